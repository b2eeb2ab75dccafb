"""The commands of `hrm`: a module for each, with the command's name.

The module `commands/NAME.py` defines the command as a class of the same name, such as `Compile` in `compile.py`. The
table below gives each command its line in `hrm --help`, so that the help needs no command to be loaded. A module loads
nothing large: JAX, and whatever needs it, is imported inside `run`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

from rewardmachines.cli.shared import Command

COMMANDS: Final = {
    "learn": "machines and policies of all tasks, from interaction alone",
    "compile": "a task expression or an LTLf formula becomes a hierarchy",
    "check": "is it deterministic? which parts can never be reached?",
    "run": "run traces through it and show every step",
    "draw": "a picture: SVG or PNG",
    "explain": "what moves it, in words, and as a task expression",
    "flatten": "write it without calls",
    "minimize": "remove what adds nothing",
    "equivalent": "compare two; a shortest trace that separates them",
    "stats": "heights, states, edges, and the size of the flat machine",
    "export": "for Graphviz, Mermaid, automata tools, clingo",
    "library": "the tasks and figures of the paper",
    "induce": "learn the smallest machine that explains traces",
    "ask": "answer questions until only one machine is left",
    "identify": "the smallest automaton that agrees with labelled words",
    "traces": "record traces to learn from",
    "play": "act in a domain, the hierarchy beside the picture",
    "train": "learn policies for a task, at every level of its hierarchy",
    "show": "what a run is, how far it is, and what is missing",
    "evaluate": "let what was learned act, and film it",
    "settings": "what --set takes: names, values and meanings",
    "bank": "keep what was learned as a bank of skills, for new tasks",
    "plot": "learning curves of runs",
    "report": "a page on what a run has learned",
    "labels": "the labels that an environment shows in random episodes",
    "study": "many runs, and the tables, figures and claims made of them",
    "studio": "a page on which hierarchies are written, stepped, compared",
    "completion": "a script by which bash, zsh or fish completes words",
}
"""The commands in the order of the help, each with what it is for."""


def load_command(name: str) -> type[Command]:
    """Loads the module of one command and no other.

    Args:
        name: One of `COMMANDS`.

    Returns:
        The class whose fields are the arguments of the command.
    """
    command: type[Command] = getattr(import_module(f"{__name__}.{name}"), name.capitalize())
    return command
