"""What an environment of somebody else's gives is checked here, for all who step one."""
