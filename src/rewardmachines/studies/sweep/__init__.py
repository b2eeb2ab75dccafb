"""Where the runs of a study are carried out: on this machine, or on a cluster."""
