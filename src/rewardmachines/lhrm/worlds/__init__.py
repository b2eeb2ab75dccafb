"""Where tasks are learned: compiled environments, and those of Gymnasium."""
