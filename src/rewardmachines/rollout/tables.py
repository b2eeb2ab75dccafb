"""Records of arrays that an agent and N environments exchange.

Every array has a row for each of N environments, unless another letter says otherwise: T counts tasks, I instances, G
exploration options.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import jax
from jaxtyping import Array, Bool, Float, Int32, PRNGKeyArray, UInt32

from rewardmachines.agents.protocol import Losses, Task
from rewardmachines.lowered import State, VerdictCode
from rewardmachines.lowered.traversal import ACCEPT, NEITHER, REJECT
from rewardmachines.traces import Outcome

NOTHING: Final = 0
"""The code of an environment that does not wait."""
GOAL, DEAD_END, INCOMPLETE = (1 + code for code in (ACCEPT, REJECT, NEITHER))
"""What a trace that waits is an example of: one more than the code of the verdict that a right machine gives it."""


class ExplorationTables(NamedTuple):
    """What an agent may follow where the machine of a task knows no option, while machines are being learned.

    An *exploration option* is a machine that is followed from its beginning until it accepts or rejects: a mastered
    machine, or one that seeks a formula. A *proposition option* seeks a formula and is still being learned: it explores
    on its own, and may be given up.
    """

    is_learned: Bool[Array, " T"]
    """Whether a task has a machine, whose verdicts are judged. Before that, only goal traces are collected."""
    is_suspect: Bool[Array, " T"]
    """Whether a task's machine is suspect, so that an agent that takes detours does so often there."""
    machine: Int32[Array, " G"]
    """The machine of each exploration option."""
    is_available: Bool[Array, " G"]
    """Which of the G numbers are in use."""
    is_proposition: Bool[Array, " G"]
    """Which of them are proposition options."""
    random_walk: Int32[Array, ""]
    """The machine of random walks, which never moves and has no options."""


class TaskTables(NamedTuple):
    """Tasks as arrays of fixed shape: new machines and formulas are new numbers, and nothing is compiled for them."""

    task: Task
    """What the agent needs: the world, the machines of all tasks, and for an agent with options, these."""
    root: Int32[Array, " T"]
    """The root machine of each task."""
    chances: Float[Array, "T I"]
    """How likely each pair of a task and an instance is drawn."""
    exploration: ExplorationTables | None = None
    """None where hierarchies are given."""


class Percept(NamedTuple):
    """What N environments show after a step, or at the beginning of an episode."""

    memory: Any
    """The present moment as the replay memory holds it: an observation can be computed of it."""
    label: UInt32[Array, "N W"]
    """The propositions that hold, as bits in W words."""
    end: Int32[Array, " N"] | None
    """ACCEPT: the episode has ended at the goal. REJECT: at a dead end. NEITHER: it goes on, or was cut off. None where
    the hierarchies that the agent follows decide it."""
    is_cut: Bool[Array, " N"]
    """Whether the episode was cut off because it is out of steps."""
    is_live: Bool[Array, " N"] | None = None
    """Whether there was a step: not where an environment was only reset. None for everywhere."""
    reward: Float[Array, " N"] | None = None
    """What the environments paid themselves, if that counts."""


class Search(NamedTuple):
    """What an episode has in addition while the machine of its task is being learned.

    An environment *waits* if its trace is to be learned from. Nothing happens there until the trace has been taken at
    the end of the chunk.
    """

    option: State
    """Where the exploration option stands; only meaningful where one is followed."""
    is_exploring: Bool[Array, " N"]
    """Whether an exploration option is followed."""
    is_proposition: Bool[Array, " N"]
    """Whether it is a proposition option, or a random walk."""
    trace: UInt32[Array, "N L W"]
    """The label events of the episode so far, the first label included. L is one more than an episode has steps."""
    length: Int32[Array, " N"]
    """How many of the L labels are in use."""
    waiting: Int32[Array, " N"]
    """What the trace is an example of: GOAL, DEAD_END or INCOMPLETE; NOTHING where the episode goes on."""


class Episodes(NamedTuple):
    """The agent's half of N environments: their tasks, where their hierarchies stand, and the agent's plans."""

    now: Any
    """The present moment as the replay memory holds it."""
    task: Int32[Array, " N"]
    instance: Int32[Array, " N"]
    label: UInt32[Array, "N W"]
    """The label of the present moment."""
    belief: State
    """Where the hierarchy of the task stands, given or learned."""
    plans: Any
    """What the agent is about to do, in a form of its own: those of the exploration option where one is followed."""
    search: Search | None = None
    """None where hierarchies are given."""


class Endings(NamedTuple):
    """Which episodes ended with a step, and how."""

    is_live: Bool[Array, " N"]
    """Whether there was a step at all: an environment that waits makes none, and none is counted."""
    is_over: Bool[Array, " N"]
    """Whether the episode has ended and its trace need not be taken, so that another can begin at once."""
    is_ended: Bool[Array, " N"]
    """Whether the environment has ended the episode, also where its trace now waits."""
    is_goal: Bool[Array, " N"]
    """Whether it has ended at the goal."""


class Counts(NamedTuple):
    """What was counted in a chunk."""

    episodes: Int32[Array, " T"]
    """Episodes that the environment ended. One that was only cut short by a counterexample is not among them."""
    goals: Int32[Array, " T"]
    """Those of them that reached the goal."""
    steps: Int32[Array, ""]
    """Steps of all tasks together. An environment that waits for its trace to be taken makes none."""
    losses: Losses
    """The means over the chunk."""
    exploration: Float[Array, ""]
    """The probability of a random action after the chunk, on average."""


class RunState(NamedTuple):
    """Everything that changes while the agent acts and learns, as arrays of the device."""

    agent: Any
    """What the agent has learned and remembers, in a form of its own."""
    episodes: Episodes
    environments: Any
    """What only the environments know; empty if they are not arrays, as those of Gymnasium."""
    unlearned: Int32[Array, ""]
    """Steps since the last round of learning. The next round comes when there was one for every environment."""
    key: PRNGKeyArray


def outcome_of(waiting: int) -> Outcome:
    """What a trace that waits to be taken is an example of, by its code."""
    return Outcome.of(VerdictCode(waiting - 1).verdict)


def copied(tree: Any) -> Any:
    """A tree whose arrays are all copies: a program may take their memory over, but none of them twice."""
    return jax.device_put(tree, may_alias=False)
