"""The office world and the craft world of Toro Icarte et al., as published."""
