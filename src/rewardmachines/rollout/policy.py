"""A learned policy outside the loop that trained it: given observations and labels, it chooses actions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from math import prod
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from rewardmachines.agents.options.option_set import TRUE, OptionSet, joined
from rewardmachines.agents.protocol import AnyAgent, Recall, Task
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import LEAF
from rewardmachines.core.traversal import HierarchyState, Verdict
from rewardmachines.lowered import LabelBits, LoweredHierarchy, lift, verdict
from rewardmachines.lowered.traversal import NEITHER, VERDICTS
from rewardmachines.rollout.compile_ahead import KEPT
from rewardmachines.rollout.interaction import Interaction
from rewardmachines.rollout.tables import Episodes, Percept, TaskTables


@dataclass(frozen=True)
class FollowedHierarchy:
    """The hierarchy that a policy follows, with the names of its numbers."""

    hierarchy: Hierarchy
    lowered: LoweredHierarchy
    """The machines by their numbers. The root is that of the task."""
    option_set: OptionSet | None = None
    """The options of each machine, for agents that have options."""


@dataclass(frozen=True)
class Encoding:
    """The encoding of observations, labels and actions for a policy."""

    observation: Callable[[Any], Any]
    """Encodes an observation; an error, if it is not in the space that the policy was trained with."""
    label: Callable[[Iterable[str]], Any]
    """Encodes a label as bits; an error, if it has unknown propositions."""
    blank: Any
    """Zeros in the shape of a stored observation."""
    recall: Recall
    """Computes an observation from its stored form."""
    action: Callable[[int], Any] = int
    """The environment's action of a number; the agent counts its actions from 0."""


def plain_encoding(shape: tuple[int, ...], propositions: Iterable[str]) -> Encoding:
    """The encoding of a domain, whose observations of this shape are stored unchanged."""

    def checked(given: Any) -> Any:
        if np.shape(given) != shape:
            raise RewardMachineError(f"the policy knows observations of shape {shape}, not {np.shape(given)}")
        return np.asarray(given, np.float32)

    return Encoding(checked, LabelBits(tuple(propositions)).encode, np.zeros(shape, np.float32), as_it_is)


def as_it_is(world: Any, observation: Any) -> Any:  # noqa: ARG001
    """Recalls an observation that is stored as it is."""
    return observation


class Policy:
    """A greedy policy that keeps track of the hierarchy and of its options by itself.

    The hierarchy moves on label events only: a label that repeats the one before changes nothing. Every environment
    needs a policy of its own.

        policy.reset(info["label"])
        action = policy.act(observation, info["label"])
    """

    def __init__(
        self,
        agent: AnyAgent,
        learned: Any,
        task: Task,
        followed: FollowedHierarchy,
        encoding: Encoding,
        *,
        seed: int = 0,
    ) -> None:
        """Begins no episode yet.

        Args:
            agent: The functions of the agent.
            learned: The networks of the agent.
            task: The task as arrays.
            followed: The hierarchy that the policy follows.
            encoding: The encoding of observations, labels and actions.
            seed: The seed of random actions where no option can be chosen.
        """
        self._learned, self._followed, self._encoding = learned, followed, encoding
        root, even = np.asarray([followed.lowered.root], np.int32), np.ones((1, 1), np.float32)
        self._tables = TaskTables(task, *jax.device_put((root, even)))
        self._programs = _programs(agent, encoding.recall)
        self._first_key = jax.random.key(seed)
        self._begun: _Begun | None = None

    def reset(self, label: Iterable[str] = ()) -> None:
        """Begins an episode.

        Args:
            label: The propositions that hold at the beginning of the episode.
        """
        percept = _percept(self._encoding.blank, self._encoding.label(label))
        episode = self._programs.begin(self._tables, percept, self._first_key)
        constant, constant_form = self._constant
        form = EpisodeForm.of(episode)
        memory, packed = form.packed(episode, NOT_ACTED, jax.random.key_data(self._first_key))
        program, end = self._programs.act(constant_form, form), self._verdict_of(episode)
        self._begun = _Begun(form, program, constant, memory, packed, end)

    @cached_property
    def _constant(self) -> tuple[tuple[Any, ...], Any]:
        """The arrays that stay the same in all steps, and their form."""
        leaves, form = jax.tree.flatten((self._tables, self._learned))
        return tuple(jax.device_put(leaves)), form

    def _verdict_of(self, episode: Episodes) -> Verdict:
        return VERDICTS[int(np.asarray(self._programs.verdict(self._tables, episode.belief))[0])]

    def act(self, observation: Any, label: Iterable[str]) -> Any:
        """The action for the present moment, which the last action has led to, as the environment takes it.

        Args:
            observation: The observation, as the environment returned it.
            label: The propositions that hold.

        Raises:
            RewardMachineError: The policy was not reset, the observation is not in the space that it was trained with,
                or the task is over.
        """
        begun = self._begun
        if begun is None:
            raise RewardMachineError("reset the policy, with the first label, before it acts")
        memory, bits = self._encoding.observation(observation), self._encoding.label(label)
        unpacked, packed = begun.program(begun.constant, begun.unpacked, begun.packed, memory, bits)
        action, verdict_code = np.asarray(packed)[:2].tolist()
        end = VERDICTS[verdict_code]
        self._begun = begun._replace(unpacked=unpacked, packed=packed, verdict=end)
        if end is not Verdict.NEITHER:
            raise RewardMachineError("the task is over: reset the policy before it acts again")
        return self._encoding.action(action)

    @property
    def _now(self) -> Episodes:
        if self._begun is None:
            raise RewardMachineError("reset the policy, with the first label, before it is looked at")
        return self._begun.form.episode(self._begun.unpacked, self._begun.packed)

    @property
    def hierarchy(self) -> Hierarchy:
        """The hierarchy that the policy follows; flat algorithms have a flat one."""
        return self._followed.hierarchy

    @property
    def propositions(self) -> tuple[str, ...]:
        """The propositions that labels are made of."""
        return self._followed.lowered.bits.propositions

    @property
    def state(self) -> HierarchyState:
        """The state of the hierarchy."""
        followed = self._followed
        return lift(followed.lowered, followed.hierarchy, jax.tree.map(lambda x: np.asarray(x)[0], self._now.belief))

    @property
    def verdict(self) -> Verdict:
        """Whether the task is accepted, rejected, or still under way."""
        if self._begun is None:
            raise RewardMachineError("reset the policy, with the first label, before it is looked at")
        return self._begun.verdict

    @property
    def options(self) -> tuple[str, ...]:
        """The options that are running, from the outermost to the innermost; CRM has none."""
        option_set, lowered = self._followed.option_set, self._followed.lowered
        if option_set is None:
            return ()
        stack = jax.tree.map(lambda x: np.asarray(x)[0], self._now.plans)
        names = []
        for i in range(int(stack.first), int(stack.size)):
            machine = lowered.machines[stack.machine[i]]
            callee, disjunct = option_set.outputs[machine][stack.output[i]]
            aim = joined(option_set.contexts[stack.context[i]], disjunct)
            parts = ("" if callee == LEAF else f"call {callee}", "" if aim == TRUE else str(aim))
            names.append(f"{machine}: {' when '.join(filter(None, parts))}")
        return tuple(names)


def _percept(memory: Any, label: Any) -> Percept:
    """A moment of the only environment, whose hierarchy is the policy's own."""
    is_cut: Any = np.zeros(1, bool)
    return Percept(memory[None], label[None], end=None, is_cut=is_cut)


NOT_ACTED: Final = np.array([-1, NEITHER], np.int32)
"""What stands for the last action and its verdict before the first."""
KEY: Final = slice(2, 4)
HEAD: Final = 4
"""The columns of the random key in packed numbers, and the first column of the episode."""


@dataclass(frozen=True)
class EpisodeForm:
    """The structure of an episode whose arrays are packed into one: every result of a program takes time."""

    structure: Any
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]

    @staticmethod
    def of(episode: Episodes) -> EpisodeForm:
        """The form of an episode."""
        leaves, structure = jax.tree.flatten(episode)
        return EpisodeForm(structure, tuple(x.shape for x in leaves), tuple(str(x.dtype) for x in leaves))

    def packed(self, episode: Episodes, chosen: Any, key: Any) -> tuple[tuple[Any, ...], Any]:
        """The arrays of an episode that are not packed, and all others in one, with what was chosen and a key."""
        numbers = [jnp.asarray(chosen), _as_integers(key)]
        unpacked = []
        for leaf, dtype in zip(jax.tree.leaves(episode), self.dtypes, strict=True):
            if dtype in PACKED:
                numbers.append(_as_integers(leaf))
            else:
                unpacked.append(leaf)
        return tuple(unpacked), jnp.concatenate(numbers)

    def episode(self, unpacked: Sequence[Any], packed: Any) -> Episodes:
        """The episode of arrays that are not packed, and of one in which all others are."""
        others, leaves, at = iter(unpacked), [], HEAD
        for shape, dtype in zip(self.shapes, self.dtypes, strict=True):
            if dtype not in PACKED:
                leaves.append(next(others))
                continue
            numbers, at = packed[at : at + prod(shape)].reshape(shape), at + prod(shape)
            leaves.append(numbers != 0 if dtype == "bool" else jax.lax.bitcast_convert_type(numbers, dtype))
        episode: Episodes = jax.tree.unflatten(self.structure, leaves)
        return episode


PACKED: Final = ("bool", "int32", "uint32", "float32")
"""The types that are packed: those of four bytes, whose bits are kept, and truth values."""


def _as_integers(array: Any) -> Any:
    """The bits of an array as one row of whole numbers."""
    array = jnp.ravel(array)
    return array.astype(jnp.int32) if array.dtype == bool else jax.lax.bitcast_convert_type(array, jnp.int32)


class _Begun(NamedTuple):
    """An episode that has begun. Its arrays have no structure, which would have to be taken apart at every step."""

    form: EpisodeForm
    program: Any
    constant: tuple[Any, ...]
    """The arrays that stay the same."""
    unpacked: tuple[Any, ...]
    """The arrays of the episode that are not packed."""
    packed: Any
    """The last action, the verdict before it, the data of the next random key, and the other arrays."""
    verdict: Verdict


class _Programs:
    """Compiled functions for a batch of one environment."""

    def __init__(self, agent: Any, recall: Recall) -> None:
        self._interaction = interaction = Interaction(replace(agent, recall=recall), longest=0)
        self._acts: dict[Any, Any] = {}
        first: Any = np.zeros(1, np.int32)

        def begin(tables: TaskTables, percept: Percept, key: Any) -> Episodes:
            return interaction.begin(tables, first, first, percept, key)

        self.begin, self.verdict = jax.jit(begin), jax.jit(_verdicts)

    def act(self, constant_form: Any, form: EpisodeForm) -> Any:
        """The program of a step, whose arguments and results are flat: a call of it takes as long as all of its work.

        Args:
            constant_form: The structure of the tables and of what was learned.
            form: The form of an episode.
        """
        if (constant_form, form) not in self._acts:
            self._acts[constant_form, form] = jax.jit(partial(_acted, self._interaction, constant_form, form))
        return self._acts[constant_form, form]


def _verdicts(tables: TaskTables, states: Any) -> Any:
    return jax.vmap(partial(verdict, tables.task.tables))(states)


def _acted(
    interaction: Interaction,
    constant_form: Any,
    form: EpisodeForm,
    constant: Sequence[Any],
    unpacked: Sequence[Any],
    packed: Any,
    memory: Any,
    label: Any,
) -> tuple[tuple[Any, ...], Any]:
    """A step of a policy: what has happened since the last action, and the next.

    Args:
        interaction: The functions of episodes.
        constant_form: The structure of the tables and of what was learned.
        form: The form of the episode.
        constant: The arrays of the tables and of what was learned.
        unpacked: The arrays of the episode that are not packed.
        packed: All others, behind the last action, below 0 for none, the verdict before it and the random key.
        memory: The present moment.
        label: The bits of its label.

    Returns:
        The arrays of the episode. If the verdict is there already, nothing has been chosen, and the last action stays.
    """
    tables, learned = jax.tree.unflatten(constant_form, constant)
    before, percept = form.episode(unpacked, packed), _percept(memory, label)
    last, key = packed[:1], jax.random.wrap_key_data(jax.lax.bitcast_convert_type(packed[KEY], jnp.uint32))
    kept, act_key, follow_key = jax.random.split(key, 3)
    followed = interaction.follow(tables, before, jnp.maximum(last, 0), percept, follow_key)[0]
    episode = _either(last[0] < 0, before._replace(now=percept.memory), followed)
    end = _verdicts(tables, episode.belief)
    action, after = interaction.exploit(tables, learned, episode, act_key)
    goes_on = end[0] == NEITHER
    chosen = jnp.concatenate([jnp.where(goes_on, action, last), end]).astype(jnp.int32)
    return form.packed(_either(goes_on, after, episode), chosen, jax.random.key_data(kept))


def _either(condition: Any, one: Any, other: Any) -> Any:
    """The arrays of one structure, or of another like it."""
    return jax.tree.map(lambda x, y: jnp.where(condition, x, y), one, other)


_programs = lru_cache(KEPT)(_Programs)
"""The same programs for equal agents, so that nothing is compiled twice."""


# -- episodes in an environment


class Moment(NamedTuple):
    """A moment of an episode."""

    number: int
    """The steps since its beginning."""
    info: dict[str, Any]
    reward: float
    """The reward of the last step; 0 at the beginning."""
    is_over: bool
    """Whether the episode is terminated or truncated."""
    is_terminated: bool


def moments(env: Any, policy: Policy, seed: int | None, is_last: Callable[[Moment], bool]) -> Iterator[Moment]:
    """The moments of an episode of a policy, each after the policy has chosen its action there, if it is not the last.

    Args:
        env: A Gymnasium environment with labels.
        policy: The policy.
        seed: The seed of the reset.
        is_last: Whether the episode is cut off after a moment.
    """
    observation, info = env.reset(seed=seed)
    policy.reset(info["label"])
    moment = Moment(0, info, 0.0, is_over=False, is_terminated=False)
    while not is_last(moment):
        action = policy.act(observation, moment.info["label"])
        yield moment
        observation, reward, terminated, truncated, info = env.step(action)
        moment = Moment(moment.number + 1, info, float(reward), terminated or truncated, terminated)
    yield moment
