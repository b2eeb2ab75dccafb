"""Records of arrays that an agent and N environments exchange.

Every array has a row for each of N environments, unless another letter says otherwise: T counts tasks, I instances, G
exploration options.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32, PRNGKeyArray, UInt32

from rewardmachines.agents.protocol import Losses, Task
from rewardmachines.lowered import State, VerdictCode
from rewardmachines.lowered.traversal import ACCEPT, NEITHER, REJECT
from rewardmachines.traces import Outcome

NOTHING: Final = 0
"""The code of an environment that does not wait."""
GOAL, DEAD_END, INCOMPLETE = (1 + code for code in (ACCEPT, REJECT, NEITHER))
"""The kind of example of a waiting trace: one more than the code of the verdict of a correct machine."""


class PairTables(NamedTuple):
    """Pairs of a position and a label, which machines are tested on (`lhrm.conformance`).

    T tasks, V positions, E labels of W words; M machines with U states.
    """

    position: Int32[Array, "T U M U"]
    """The number of the position by the state of the task's own machine, the machine that runs, and its state; -1 for
    those that are not tested."""
    label: UInt32[Array, "E W"]
    is_label: Bool[Array, " E"]
    """The mask of the E numbers that are in use."""
    option: Int32[Array, " E"]
    """The exploration option that pursues each label, or -1."""
    effort: Int32[Array, "T V E"]
    """The tries and pursuits of each pair before the chunk; `closed` if it is not to be pursued."""
    closed: Int32[Array, ""]
    """The effort of pairs that are not to be pursued."""
    is_tested: Bool[Array, " T"]
    """Whether labels are pursued in episodes of a task for the sake of its tests."""


class PairCounts(NamedTuple):
    """The episodes of a chunk that have tried each pair, and those in which it was pursued."""

    tried: Int32[Array, "T V E"]
    pursued: Int32[Array, "T V E"]


class ExplorationTables(NamedTuple):
    """The options for exploration where the machine of a task has no option, while machines are being learned.

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
    """The mask of the G numbers that are in use."""
    is_proposition: Bool[Array, " G"]
    """The mask of exploration options that are proposition options."""
    random_walk: Int32[Array, ""]
    """The machine of random walks, which never moves and has no options."""
    pairs: PairTables | None = None
    """The pairs that machines are tested on; None without tests."""


class TaskTables(NamedTuple):
    """Tasks as arrays of fixed shape: new machines and formulas are new numbers, and nothing is compiled for them."""

    task: Task
    """The agent's task: the world, the machines of all tasks, and their options, for an agent that chooses options."""
    root: Int32[Array, " T"]
    """The root machine of each task."""
    chances: Float[Array, "T I"]
    """The sampling weight of each pair of a task and an instance."""
    exploration: ExplorationTables | None = None
    """None where hierarchies are given."""


class Percept(NamedTuple):
    """The percept of N environments after a step, or at the beginning of an episode."""

    memory: Any
    """The present moment as the replay memory stores it, from which an observation can be computed."""
    label: UInt32[Array, "N W"]
    """The propositions that hold, as bits in W words."""
    end: Int32[Array, " N"] | None
    """ACCEPT: the episode has ended at the goal. REJECT: at a dead end. NEITHER: it goes on, or was truncated. None if
    the hierarchies that the agent follows decide it."""
    is_cut: Bool[Array, " N"]
    """Whether the episode was truncated by the step limit."""
    is_live: Bool[Array, " N"] | None = None
    """Whether there was a step: false for an environment that was only reset. None if all environments made a step."""
    reward: Float[Array, " N"] | None = None
    """The environments' own rewards, if they have a weight."""


class Search(NamedTuple):
    """The additional state of an episode while the machine of its task is being learned.

    An environment *waits* if its trace is a new example. It makes no step until the trace has been collected at the end
    of the chunk.
    """

    option: State
    """The state of the exploration option; valid only where one is followed."""
    is_exploring: Bool[Array, " N"]
    """Whether an exploration option is followed."""
    is_proposition: Bool[Array, " N"]
    """Whether the exploration option is a proposition option, or a random walk."""
    trace: UInt32[Array, "N L W"]
    """The label events of the episode so far, the first label included. L is one more than an episode has steps."""
    length: Int32[Array, " N"]
    """The number of labels in use, of L."""
    waiting: Int32[Array, " N"]
    """The kind of example of the trace: GOAL, DEAD_END or INCOMPLETE; NOTHING while the episode goes on."""
    tried: UInt32[Array, "N V"] | None = None
    """The pairs that the episode has tried: for each position, a bit for each label. None without tests."""
    pursued: UInt32[Array, "N V"] | None = None
    """The pairs whose label was pursued from the position."""


class Episodes(NamedTuple):
    """The agent's half of N environments: their tasks, the states of their hierarchies, and the agent's plans."""

    now: Any
    """The present moment as the replay memory stores it."""
    task: Int32[Array, " N"]
    instance: Int32[Array, " N"]
    label: UInt32[Array, "N W"]
    """The label of the present moment."""
    belief: State
    """The state of the task's hierarchy, given or learned."""
    plans: Any
    """The plans of the agent, in a form of its own: those of the exploration option where one is followed."""
    search: Search | None = None
    """None where hierarchies are given."""


class Endings(NamedTuple):
    """The ends of episodes in a step."""

    is_live: Bool[Array, " N"]
    """Whether there was a step at all: an environment that waits makes none, and none is counted."""
    is_over: Bool[Array, " N"]
    """Whether the episode has ended and its trace is no example, so that a new episode can begin at once."""
    is_ended: Bool[Array, " N"]
    """Whether the environment has ended the episode, also where its trace now waits."""
    is_goal: Bool[Array, " N"]
    """Whether it has ended at the goal."""
    is_judged: Bool[Array, " N"]
    """Whether it has ended at the goal or at a dead end."""


class Counts(NamedTuple):
    """The counts of a chunk."""

    episodes: Int32[Array, " T"]
    """Episodes that the environment ended, without those that only a counterexample cut short."""
    goals: Int32[Array, " T"]
    """Episodes that reached the goal."""
    steps: Int32[Array, ""]
    """Steps of all tasks together. Environments that wait make none."""
    losses: Losses
    """The means over the chunk."""
    exploration: Float[Array, ""]
    """The probability of a random action after the chunk, on average."""
    pairs: PairCounts | None = None
    """The tests of machines; None without tests."""


class RunState(NamedTuple):
    """Everything that changes while the agent acts and learns, as arrays of the device."""

    agent: Any
    """The agent's state, in a form of its own."""
    episodes: Episodes
    environments: Any
    """The hidden states of the environments; empty if these are not arrays, as in Gymnasium."""
    unlearned: Int32[Array, ""]
    """Steps since the last round of learning. The next round comes after one step for every environment."""
    key: PRNGKeyArray


def no_tests(tables: TaskTables) -> PairCounts | None:
    """Counts of tests at the beginning of a chunk; None without tests."""
    if tables.exploration is None or tables.exploration.pairs is None:
        return None
    none = jnp.zeros_like(tables.exploration.pairs.effort)
    return PairCounts(none, none)


def outcome_of(waiting: int) -> Outcome:
    """The outcome of a waiting trace, by the code of its kind of example."""
    return Outcome.of(VerdictCode(waiting - 1).verdict)


def copied(tree: Any) -> Any:
    """A tree of copies: arrays whose memory is donated to a program must not occur twice."""
    return jax.device_put(tree, may_alias=False)
