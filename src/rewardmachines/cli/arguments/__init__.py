"""Arguments of commands that need JAX: they are read, and their help is shown, before it is loaded.

The module `arguments/NAME.py` defines the arguments of the command `NAME` as a class such as `TrainArguments`; the
command itself, `commands/NAME.py`, extends it.
"""
