"""What is shown while something takes long."""
