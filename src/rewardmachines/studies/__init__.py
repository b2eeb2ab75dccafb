"""Studies: what is run to answer a question, and the baselines that exist only to be compared with."""
