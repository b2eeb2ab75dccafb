"""DeepSynth: an automaton that allows no pair of labels which was never observed (Hasanbeig et al., AAAI 2021).

A call goes from traces through states for their transitions (`synthesis.py`) to a deterministic automaton
(`determinize.py`). `learner.py` decides when a call is made, `search.py` is what a process of its own
computes.
"""
