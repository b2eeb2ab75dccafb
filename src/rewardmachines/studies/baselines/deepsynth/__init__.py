"""DeepSynth: an automaton that allows no pair of labels which was never observed (Hasanbeig et al., AAAI 2021).

`learner.py` decides when a call is made. A call, in a process of its own, goes from traces through states for their
transitions to a deterministic automaton (`automaton.py`).
"""
