"""Three published learners of flat machines, which learn from random episodes and exist only to be compared with.

`learn_flat` runs one of them in a folder. All follow one protocol (`protocol.py`); each has a folder of its own, and a
line in `methods.py`.
"""
