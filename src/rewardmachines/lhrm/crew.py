"""What is known, what environments show, and the agent's half of N environments: records of arrays.

Every array has a row for each of N environments, unless another letter says otherwise. These are the words:

- The *belief* is where the learned hierarchy of the task stands.
- A *guide* is followed where the belief knows no option: a mastered machine, or one that seeks a formula, from its
  beginning until it accepts or rejects.
- A *scout* is a guide that is still learning: it explores on its own, and may give up.
- A *digression* leaves what the belief suggests for a while, to follow a guide or to *wander*: to follow the idle
  machine, which has no options, so that actions are random, until it is given up as a scout gives up.
- An environment *waits* if its trace is to be learned from. Nothing happens there until the trace has been taken at the
  end of the chunk.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import jax
from jaxtyping import Array, Bool, Float, Int32, UInt32

from rewardmachines.agents.hierarchical_dqn.task import OptionTask
from rewardmachines.agents.options.stack import OptionStack, cleared
from rewardmachines.agents.options.tables import OptionTables
from rewardmachines.lowered import State, Tables, VerdictCode
from rewardmachines.lowered.traversal import ACCEPT, NEITHER, REJECT
from rewardmachines.traces import Outcome

NOTHING: Final = 0
"""The code of an environment that does not wait."""
GOAL, DEAD_END, INCOMPLETE = (1 + code for code in (ACCEPT, REJECT, NEITHER))
"""What a trace that waits is an example of: one more than the code of the verdict that a right machine gives it."""


class Knowledge(NamedTuple):
    """What is known and believed, as arrays of fixed shape: T tasks, I instances, room for G guides.

    New machines and formulas are new numbers in these arrays, so that nothing is compiled for them.
    """

    world: Any
    """The arrays from which observations are computed again."""
    tables: Tables
    """All machines: those of the tasks, then those that seek a formula."""
    options: OptionTables
    root: Int32[Array, " T"]
    """The number of each task's machine."""
    is_learned: Bool[Array, " T"]
    """Whether a task has a machine, whose verdicts are judged. Before that, only goal traces are collected."""
    guide: Int32[Array, " G"]
    """The numbers of the machines that are guides."""
    is_guide: Bool[Array, " G"]
    """Which of the G numbers are in use."""
    is_scout: Bool[Array, " G"]
    idle: Int32[Array, ""]
    """The number of the idle machine, which never moves and has no options: who follows it wanders."""
    chances: Float[Array, "T I"]
    """How likely the curriculum draws each pair of a task and an instance."""

    @property
    def task(self) -> OptionTask:
        """What an agent needs of it."""
        return OptionTask(self.world, self.tables, self.options)


class StepResult(NamedTuple):
    """What N environments show after a step, or at the beginning of an episode."""

    memory: Any
    """What is to be remembered of the moment, so that the observation can be computed again."""
    label: UInt32[Array, "N W"]
    """The propositions that hold, as bits in W words."""
    end: Int32[Array, " N"]
    """ACCEPT: the episode has ended at the goal. REJECT: at a dead end. NEITHER: it goes on, or was cut off."""
    is_cut: Bool[Array, " N"]
    """Whether the episode was cut off because it is out of steps."""

    @property
    def is_over(self) -> Bool[Array, " N"]:
        """Whether the episode has ended, in whichever way."""
        return (self.end != NEITHER) | self.is_cut


class Crew(NamedTuple):
    """The agent's half of N environments: a member for each, with its task, its belief and what it is about to do."""

    now: Any
    """The present moment as it is remembered."""
    task: Int32[Array, " N"]
    instance: Int32[Array, " N"]
    label: UInt32[Array, "N W"]
    """The label of the present moment."""
    belief: State
    guide: State
    """Where the guide stands; only meaningful where one is followed."""
    is_guided: Bool[Array, " N"]
    is_scouting: Bool[Array, " N"]
    """Whether the guide that is followed is a scout."""
    stacks: OptionStack
    """The options that are running: those of the guide where one is followed, otherwise those of the belief."""
    trace: UInt32[Array, "N L W"]
    """The label events of the episode so far, the first label included. L is one more than an episode has steps."""
    length: Int32[Array, " N"]
    """How many of the L labels are in use."""
    waiting: Int32[Array, " N"]
    """What the trace is an example of: GOAL, DEAD_END or INCOMPLETE; NOTHING where the episode goes on."""


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


def clear_guides(crew: Crew, which: Bool[Array, " N"]) -> Crew:
    """Clears the guide of the selected environments, with its options.

    The options of an environment that has no guide stay as they are.
    """
    is_cleared = which & crew.is_guided
    return crew._replace(
        is_guided=crew.is_guided & ~is_cleared,
        is_scouting=crew.is_scouting & ~is_cleared,
        stacks=jax.vmap(cleared)(crew.stacks, crew.belief.depth, is_cleared),
    )


def outcome_of(waiting: int) -> Outcome:
    """What a trace that waits to be taken is an example of, by its code."""
    return Outcome.of(VerdictCode(waiting - 1).verdict)
