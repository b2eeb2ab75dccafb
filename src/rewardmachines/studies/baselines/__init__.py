"""Three published learners of flat machines, which learn from random episodes and exist only to be compared with.

They follow one protocol (`protocol.py`), and run in folders like all others (`algorithm.py`); each has a folder of its
own, and a line among `METHODS`.
"""
