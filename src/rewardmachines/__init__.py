"""Hierarchies of reward machines: learn, write, run, draw, flatten, minimize and compare them.

>>> import rewardmachines as rm
>>> book = rm.compile_task(
...     "(paper & leather) ; table",
...     tasks={"paper": "sugarcane ; workbench", "leather": "rabbit ; workbench"},
... )
>>> rm.verdict(book, [{"sugarcane"}, {"workbench"}, {"rabbit"}, {"workbench"}, {"table"}])
<Verdict.ACCEPT: 'accept'>
"""

import sys
from typing import TYPE_CHECKING, Any

if sys.argv[:1] == ["-m"]:  # `python -m rewardmachines`, which loads this before its own lines
    from hrm import end_on_interrupt

    end_on_interrupt()
if sys.version_info < (3, 11):  # noqa: UP036 (pip refuses an older Python, which a clone may still be run with)
    problem = f"rewardmachines needs Python 3.11 or later: this is {sys.version_info[0]}.{sys.version_info[1]}"
    if sys.argv[:1] == ["-m"]:
        print(problem, file=sys.stderr)
        sys.exit(2)
    raise ImportError(problem)

from rewardmachines.files.extras import explain_missing

if TYPE_CHECKING:
    from rewardmachines.agents.bank.bank import Bank
    from rewardmachines.agents.bank.files import load_bank
    from rewardmachines.agents.registry import AgentKind, register_agent
    from rewardmachines.core.equivalence import difference, equivalent, interchangeable
    from rewardmachines.core.errors import RewardMachineError
    from rewardmachines.core.flattening import flatten
    from rewardmachines.core.formula import BOT, FALSE, TRUE, Conjunction, Formula, Label
    from rewardmachines.core.hierarchy import Hierarchy, hierarchy
    from rewardmachines.core.machine import LEAF, Edge, RewardMachine, machine
    from rewardmachines.core.minimization import minimize
    from rewardmachines.core.reachability import Conflict, check_determinism
    from rewardmachines.core.sizes import Size, flat_size, size
    from rewardmachines.core.text import parse_formula
    from rewardmachines.core.traversal import (
        Call,
        CallStack,
        HierarchyState,
        Verdict,
        derivation,
        exit_condition,
        initial_state,
        step,
        traverse,
        verdict,
        verdict_of,
    )
    from rewardmachines.drawing import (
        Drawing,
        DrawingOptions,
        draw,
        save_drawing,
        to_dot,
        to_mermaid,
        to_pdf,
        to_png,
        to_svg,
    )
    from rewardmachines.envs.domain import Domain
    from rewardmachines.envs.registry import register_domain
    from rewardmachines.exchange import from_dot, from_hoa, read_abbadingo, to_asp, to_hoa
    from rewardmachines.files import dumps, load, load_tasks, load_traces, loads, loads_tasks, save, save_traces
    from rewardmachines.language import Tie, compile_task, explain
    from rewardmachines.language.ltlf import compile_ltlf, compile_regex, holds
    from rewardmachines.learning import Identified, Learned, TimedOut, Unsatisfiable, identify, induce
    from rewardmachines.lhrm.learners import register_learner
    from rewardmachines.rollout.gym_driver import GymTask
    from rewardmachines.runs.banks import save_bank
    from rewardmachines.runs.diagnosis import Diagnosis, NotLearnedWarning
    from rewardmachines.runs.run import Run, open_run, play
    from rewardmachines.runs.verbs import learn, train
    from rewardmachines.traces import Outcome, Trace, compress, singletons

__version__ = "0.1.0"

__all__ = [
    "BOT",
    "FALSE",
    "LEAF",
    "TRUE",
    "AgentKind",
    "Bank",
    "Call",
    "CallStack",
    "Conflict",
    "Conjunction",
    "Diagnosis",
    "Domain",
    "Drawing",
    "DrawingOptions",
    "Edge",
    "Formula",
    "GymTask",
    "Hierarchy",
    "HierarchyState",
    "Identified",
    "Label",
    "Learned",
    "NotLearnedWarning",
    "Outcome",
    "RewardMachine",
    "RewardMachineError",
    "Run",
    "Size",
    "Tie",
    "TimedOut",
    "Trace",
    "Unsatisfiable",
    "Verdict",
    "check_determinism",
    "compile_ltlf",
    "compile_regex",
    "compile_task",
    "compress",
    "derivation",
    "difference",
    "draw",
    "dumps",
    "equivalent",
    "exit_condition",
    "explain",
    "flat_size",
    "flatten",
    "from_dot",
    "from_hoa",
    "hierarchy",
    "holds",
    "identify",
    "induce",
    "initial_state",
    "interchangeable",
    "learn",
    "load",
    "load_bank",
    "load_tasks",
    "load_traces",
    "loads",
    "loads_tasks",
    "machine",
    "minimize",
    "open_run",
    "parse_formula",
    "play",
    "read_abbadingo",
    "register_agent",
    "register_domain",
    "register_learner",
    "save",
    "save_bank",
    "save_drawing",
    "save_traces",
    "singletons",
    "size",
    "step",
    "to_asp",
    "to_dot",
    "to_hoa",
    "to_mermaid",
    "to_pdf",
    "to_png",
    "to_svg",
    "train",
    "traverse",
    "verdict",
    "verdict_of",
]

_HOMES = {
    "AgentKind": "agents.registry",
    "BOT": "core.formula",
    "Bank": "agents.bank.bank",
    "Call": "core.traversal",
    "CallStack": "core.traversal",
    "Conflict": "core.reachability",
    "Conjunction": "core.formula",
    "Diagnosis": "runs.diagnosis",
    "Domain": "envs.domain",
    "Drawing": "drawing",
    "DrawingOptions": "drawing",
    "Edge": "core.machine",
    "FALSE": "core.formula",
    "Formula": "core.formula",
    "GymTask": "rollout.gym_driver",
    "Hierarchy": "core.hierarchy",
    "HierarchyState": "core.traversal",
    "Identified": "learning",
    "LEAF": "core.machine",
    "Label": "core.formula",
    "Learned": "learning",
    "NotLearnedWarning": "runs.diagnosis",
    "Outcome": "traces",
    "RewardMachine": "core.machine",
    "RewardMachineError": "core.errors",
    "Run": "runs.run",
    "Size": "core.sizes",
    "TRUE": "core.formula",
    "Tie": "language",
    "TimedOut": "learning",
    "Trace": "traces",
    "Unsatisfiable": "learning",
    "Verdict": "core.traversal",
    "check_determinism": "core.reachability",
    "compile_ltlf": "language.ltlf",
    "compile_regex": "language.ltlf",
    "compile_task": "language",
    "compress": "traces",
    "derivation": "core.traversal",
    "difference": "core.equivalence",
    "draw": "drawing",
    "dumps": "files",
    "equivalent": "core.equivalence",
    "exit_condition": "core.traversal",
    "explain": "language",
    "flat_size": "core.sizes",
    "flatten": "core.flattening",
    "from_dot": "exchange",
    "from_hoa": "exchange",
    "hierarchy": "core.hierarchy",
    "holds": "language.ltlf",
    "identify": "learning",
    "induce": "learning",
    "initial_state": "core.traversal",
    "interchangeable": "core.equivalence",
    "learn": "runs.verbs",
    "load": "files",
    "load_bank": "agents.bank.files",
    "load_tasks": "files",
    "load_traces": "files",
    "loads": "files",
    "loads_tasks": "files",
    "machine": "core.machine",
    "minimize": "core.minimization",
    "open_run": "runs.run",
    "parse_formula": "core.text",
    "play": "runs.run",
    "read_abbadingo": "exchange",
    "register_agent": "agents.registry",
    "register_domain": "envs.registry",
    "register_learner": "lhrm.learners",
    "save": "files",
    "save_bank": "runs.banks",
    "save_drawing": "drawing",
    "save_traces": "files",
    "singletons": "traces",
    "size": "core.sizes",
    "step": "core.traversal",
    "to_asp": "exchange",
    "to_dot": "drawing",
    "to_hoa": "exchange",
    "to_mermaid": "drawing",
    "to_pdf": "drawing",
    "to_png": "drawing",
    "to_svg": "drawing",
    "train": "runs.verbs",
    "traverse": "core.traversal",
    "verdict": "core.traversal",
    "verdict_of": "core.traversal",
}
"""The modules of names, which are loaded when they are asked for: commands need few, and training needs JAX."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rewardmachines' has no attribute '{name}'")
    from importlib import import_module

    with explain_missing(f"rewardmachines.{name}"):
        found = getattr(import_module(f"rewardmachines.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
