"""Hierarchies of reward machines: write, run, draw, flatten, minimize and compare them.

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

if sys.version_info < (3, 11):  # noqa: UP036 (pip refuses an older Python, which a clone may still be run with)
    problem = f"rewardmachines needs Python 3.11 or later: this is {sys.version_info[0]}.{sys.version_info[1]}"
    if sys.argv[0] == "-m":
        print(problem, file=sys.stderr)
        sys.exit(2)
    raise ImportError(problem)

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
from rewardmachines.exchange import from_hoa, to_asp, to_hoa
from rewardmachines.files import dumps, load, load_tasks, load_traces, loads, loads_tasks, save, save_traces
from rewardmachines.files.extras import explain_missing
from rewardmachines.language import Tie, compile_task
from rewardmachines.learning import Learned, TimedOut, Unsatisfiable, induce
from rewardmachines.traces import Outcome, Trace, compress, singletons

if TYPE_CHECKING:
    from rewardmachines.agents.bank.bank import Bank
    from rewardmachines.agents.bank.files import load_bank
    from rewardmachines.agents.gymnasium.diagnosis import Diagnosis, NotLearnedWarning
    from rewardmachines.agents.gymnasium.runs.run import load_gymnasium_training
    from rewardmachines.agents.gymnasium.train import train_gymnasium, vectorize
    from rewardmachines.agents.training.run import load_run
    from rewardmachines.agents.training.spec import standard_spec
    from rewardmachines.agents.training.train import train, training_rows
    from rewardmachines.envs.domain import Domain
    from rewardmachines.envs.registry import register_domain
    from rewardmachines.lhrm.gymnasium_runs.run import load_gymnasium_run, load_policy
    from rewardmachines.lhrm.learn import learn, learning_rows
    from rewardmachines.lhrm.learn_gymnasium import learn_gymnasium
    from rewardmachines.lhrm.learn_many import learn_many
    from rewardmachines.lhrm.learner_registry import register_learner
    from rewardmachines.lhrm.run import load_learning
    from rewardmachines.lhrm.saved_bank import save_bank
    from rewardmachines.lhrm.spec import specs_of_seeds, standard_learning
    from rewardmachines.lhrm.worlds.gymnasium.tasks import GymTask

__version__ = "0.1.0"

__all__ = [
    "BOT",
    "FALSE",
    "LEAF",
    "TRUE",
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
    "Label",
    "Learned",
    "NotLearnedWarning",
    "Outcome",
    "RewardMachine",
    "RewardMachineError",
    "Size",
    "Tie",
    "TimedOut",
    "Trace",
    "Unsatisfiable",
    "Verdict",
    "check_determinism",
    "compile_task",
    "compress",
    "derivation",
    "difference",
    "draw",
    "dumps",
    "equivalent",
    "exit_condition",
    "flat_size",
    "flatten",
    "from_hoa",
    "hierarchy",
    "induce",
    "initial_state",
    "interchangeable",
    "learn",
    "learn_gymnasium",
    "learn_many",
    "learning_rows",
    "load",
    "load_bank",
    "load_gymnasium_run",
    "load_gymnasium_training",
    "load_learning",
    "load_policy",
    "load_run",
    "load_tasks",
    "load_traces",
    "loads",
    "loads_tasks",
    "machine",
    "minimize",
    "parse_formula",
    "register_domain",
    "register_learner",
    "save",
    "save_bank",
    "save_drawing",
    "save_traces",
    "singletons",
    "size",
    "specs_of_seeds",
    "standard_learning",
    "standard_spec",
    "step",
    "to_asp",
    "to_dot",
    "to_hoa",
    "to_mermaid",
    "to_pdf",
    "to_png",
    "to_svg",
    "train",
    "train_gymnasium",
    "training_rows",
    "traverse",
    "vectorize",
    "verdict",
    "verdict_of",
]

_TRAINING = {
    "Bank": "agents.bank.bank",
    "save_bank": "lhrm.saved_bank",
    "load_bank": "agents.bank.files",
    "Diagnosis": "agents.gymnasium.diagnosis",
    "Domain": "envs.domain",
    "GymTask": "lhrm.worlds.gymnasium.tasks",
    "learn": "lhrm.learn",
    "learn_gymnasium": "lhrm.learn_gymnasium",
    "learn_many": "lhrm.learn_many",
    "learning_rows": "lhrm.learn",
    "load_gymnasium_run": "lhrm.gymnasium_runs.run",
    "load_gymnasium_training": "agents.gymnasium.runs.run",
    "load_learning": "lhrm.run",
    "load_policy": "lhrm.gymnasium_runs.run",
    "load_run": "agents.training.run",
    "NotLearnedWarning": "agents.gymnasium.diagnosis",
    "register_domain": "envs.registry",
    "register_learner": "lhrm.learner_registry",
    "specs_of_seeds": "lhrm.spec",
    "standard_learning": "lhrm.spec",
    "standard_spec": "agents.training.spec",
    "train": "agents.training.train",
    "train_gymnasium": "agents.gymnasium.train",
    "training_rows": "agents.training.train",
    "vectorize": "agents.gymnasium.train",
}


def __getattr__(name: str) -> Any:
    """Training needs JAX, which nothing else here should have to wait for, or to install."""
    if name not in _TRAINING:
        raise AttributeError(f"module 'rewardmachines' has no attribute '{name}'")
    from importlib import import_module

    with explain_missing(f"rewardmachines.{name}"):
        return getattr(import_module(f"rewardmachines.{_TRAINING[name]}"), name)
