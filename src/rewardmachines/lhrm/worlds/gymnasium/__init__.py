"""LHRM on Gymnasium environments: the same stepping, driven from Python."""
