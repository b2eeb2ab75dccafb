"""Runs of LHRM on Gymnasium environments that are folders: resumed, looked at, and acted with again."""
