"""Vector environments of Gymnasium: all environments are stepped at once, and begin episodes by themselves.

Episodes have no seeds of their own, so they cannot be replayed. Greedy episodes need a function that makes one
environment; without one, there are no evaluations.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import iterate

from rewardmachines.agents.config import AgentConfig
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import Verdict, initial_state, move_on_event, verdict_of
from rewardmachines.envs.gymnasium.checked_envs import AnyVectorEnv, CheckedVectorEnv, make_checked
from rewardmachines.lowered.traversal import ACCEPT, NEITHER, REJECT
from rewardmachines.rollout.gym_driver import GymSuite, GymTask, MakeEnv
from rewardmachines.rollout.gym_environments import EpisodeRecord, Numbers, PackedPercept, packed
from rewardmachines.rollout.interface import Encode, Interface, LabelCodes, action_fields, codec_for, episode_limit

WRAP_IT: Final = "wrap each: HierarchyWrapper(LabelingWrapper(env, labels=..., propositions=[...]), hierarchy)"


NOT_EVALUATED: Final = (
    "nothing is evaluated, so that the run ends by its limits alone: no function makes single environments like those "
    "of the vector environment"
)


class NotEvaluatedWarning(UserWarning):
    """A run has no evaluations, because greedy episodes cannot be begun."""


class Moments(NamedTuple):
    """The moments of N environments."""

    memory: Numbers
    """The observations in their stored form, [N ...]."""
    labels: list[Label]


class VectorEnvironments:
    """The environments of a vector environment, with the methods of `Environments`.

    With `AutoresetMode.SAME_STEP`, the next episode begins within the last step of the one before. With `NEXT_STEP`,
    the step after it only resets: the environment *rests* meanwhile, whatever action is chosen.
    """

    def __init__(
        self,
        envs: AnyVectorEnv,
        hierarchy: Hierarchy,
        interface: Interface,
        codes: LabelCodes,
        seed: int,
        *,
        pays: bool = False,
    ) -> None:
        """Takes the vector environment without resetting it.

        Args:
            envs: The vector environment, which stays open: it belongs to the caller.
            hierarchy: The hierarchy of the task, by which the environments end their episodes.
            interface: The interface of the environments.
            codes: How labels are encoded.
            seed: The seed of the first reset.
            pays: Whether percepts include the environments' own rewards.

        Raises:
            RewardMachineError: The environments do not begin episodes by themselves.
        """
        self._envs, self._hierarchy, self._seed, self._pays = CheckedVectorEnv(envs), hierarchy, seed, pays
        self._mode, self._interface, self._codes = autoreset_mode(envs), interface, codes
        count = envs.num_envs
        self.task, self.instance = np.zeros(count, np.int32), np.zeros(count, np.int32)
        self.begun = [0] * count
        """The episodes begun: always 0, as the seeds of episodes are not known."""
        self.cut_off = 0
        """The number of truncated episodes."""
        self._now = Moments(np.stack([interface.observations.blank] * count), [frozenset()] * count)
        self._states = [initial_state(hierarchy)] * count
        self._is_reset = False
        self.is_resting = np.zeros(count, bool) if self._mode is AutoresetMode.NEXT_STEP else None
        """The mask of environments that the next step only resets; None if no environment ever rests."""

    @property
    def labels(self) -> list[Label]:
        """The present labels."""
        return self._now.labels

    def begin(self, indices: Iterable[int], task: Numbers, instance: Numbers) -> PackedPercept:  # noqa: ARG002
        """The percept at the beginning of episodes. Only the first call resets; later, episodes begin by themselves."""
        if not self._is_reset:
            self._reset(self._seed)
        return self.present()

    def _reset(self, seed: int) -> None:
        self._is_reset = True
        self._now = self._seen(*self._envs.reset(seed=seed))
        if self.is_resting is not None:
            self.is_resting = np.zeros_like(self.is_resting)
        for i in range(len(self.task)):
            self._begin_hierarchy(i)

    def present(self) -> PackedPercept:
        """The percept of all N environments. No episode has ended."""
        none = np.zeros(len(self.task), bool)
        paid = none.astype(np.float32) if self._pays else None
        live = None if self.is_resting is None else ~none
        return self._packed(self._now, np.full(len(self.task), NEITHER), none, paid, live)

    def _packed(self, now: Moments, end: Numbers, is_cut: Numbers, paid: Any, live: Any) -> PackedPercept:
        bits = self._codes.many(now.labels)
        return packed(now.memory.copy(), self.task, self.instance, end, is_cut, bits)._replace(
            reward=paid, is_live=live
        )

    def step(self, indices: Iterable[int], actions: Numbers) -> PackedPercept:  # noqa: ARG002
        """Acts in all environments; those that rest are reset.

        Args:
            indices: All environments that do not rest.
            actions: The actions of all N environments, counted from 0.

        Returns:
            The percept after the actions, with the ends of episodes. Where an environment was only reset, there was no
            step, and the percept is the beginning of an episode.
        """
        returned = self._envs.step(self._interface.action(actions))
        observations, _, terminated, truncated, info = returned
        before, last = self._now.labels, self._seen(observations, info)
        self._now, is_over, is_live = last, terminated | truncated, None
        if self.is_resting is None:
            last, begins = self._last(is_over, info), is_over
        else:
            begins, is_live = self.is_resting, ~self.is_resting
            self.is_resting = is_over & is_live
        for i in range(len(self.task)) if is_live is None else np.flatnonzero(is_live).tolist():
            self._states[i] = move_on_event(self._hierarchy, self._states[i], before[i], last.labels[i])
        end, is_cut = np.where(terminated, self._ends(), NEITHER), truncated & ~terminated
        self.cut_off += int(is_cut.sum())
        for i in np.flatnonzero(begins).tolist():
            self._begin_hierarchy(i)
        paid = self._paid(is_over, begins, info) if self._pays else None
        return self._packed(last, end, is_cut, paid, is_live)

    def _seen(self, observations: Any, info: dict[str, Any]) -> Moments:
        memory = self._interface.observations.many(self._envs.envs.observation_space, observations)
        return Moments(memory, self._envs.labels(info, observations, self._codes.propositions))

    def _last(self, is_over: Numbers, info: dict[str, Any]) -> Moments:
        """The last moments of episodes that ended, which Gymnasium puts into `info`; otherwise the present moments."""
        last = Moments(self._now.memory.copy(), list(self._now.labels))
        for i in np.flatnonzero(is_over).tolist():
            observation, label = self._envs.final(i, info, self._codes.propositions)
            last.memory[i], last.labels[i] = self._interface.observations.one(observation), label
        return last

    def _begin_hierarchy(self, index: int) -> None:
        """Starts the hierarchy with the first label of an episode."""
        start = initial_state(self._hierarchy)
        self._states[index] = move_on_event(self._hierarchy, start, None, self._now.labels[index])

    def _ends(self) -> Numbers:
        """The verdicts of episodes that end now: before the hierarchy has accepted, the end is a dead end."""
        verdicts = [verdict_of(self._hierarchy, state) for state in self._states]
        return np.array([ACCEPT if one is Verdict.ACCEPT else REJECT for one in verdicts])

    def _paid(self, is_over: Numbers, begins: Numbers, info: dict[str, Any]) -> Numbers:
        """The environments' own rewards, from the last `info` if the next episode has begun within the step."""
        try:
            paid = np.zeros(len(is_over)) if begins.all() else info["environment_reward"]
            if self.is_resting is None and is_over.any():
                paid = np.where(is_over, info["final_info"]["environment_reward"], paid)
        except KeyError:
            raise RewardMachineError(f"there is no environment_reward in info; {WRAP_IT}") from None
        return np.asarray(paid, np.float32)

    # -- records of episodes

    def records(self) -> tuple[EpisodeRecord, ...]:
        """No records: episodes cannot be replayed."""
        return ()

    def replay(self, records: Sequence[EpisodeRecord]) -> Numbers:  # noqa: ARG002
        """Begins new episodes in all environments, so that the returned mask is true everywhere."""
        self._reset(int(np.random.SeedSequence([self._seed, 1]).generate_state(1)[0]))
        return np.ones(len(self.task), bool)

    def close(self) -> None:
        """Does nothing: the environments belong to the caller."""


class VectorSuite(GymSuite):
    """A task in a vector environment, which is stepped as a whole."""

    def __init__(
        self,
        envs: AnyVectorEnv,
        task: GymTask,
        *,
        encode: Encode | None = None,
        seed: int = 0,
        interface: Interface | None = None,
        labels: Iterable[Label] | None = None,
    ) -> None:
        """Determines the common interface of the environments, unless it is given.

        Args:
            envs: The vector environment.
            task: The task, with its hierarchy. Its function makes the environments for evaluations.
            encode: A function that encodes observations as arrays; or `"channels-first"`, for pictures.
            seed: The seed of the first reset.
            interface: The interface of the environments, if known.
            labels: All labels that can be observed; if not given, any label.

        Raises:
            RewardMachineError: No agent can act in such environments.
        """
        self.envs = envs
        autoreset_mode(envs)  # an error is better raised before the reset than after it
        super().__init__([task], encode=encode, seed=seed, interface=interface, labels=labels)

    @property
    def is_evaluated(self) -> bool:
        """Whether greedy episodes can be begun."""
        return function_of(self.envs) is not None

    def looked_at(self, encode: Encode | None) -> Interface:
        self._check_hierarchy()
        observations, _ = CheckedVectorEnv(self.envs).reset(seed=self.seed)
        first = next(iter(iterate(self.envs.observation_space, observations)))
        actions = action_fields(self.envs.single_action_space)
        side_by_side = getattr(self.envs, "envs", None)
        return Interface(
            propositions=propositions_of(self.envs),
            observations=codec_for(self.envs.single_observation_space, encode, first),
            **actions,
            limit=episode_limit(side_by_side[0]) if side_by_side else None,
        )

    def _check_hierarchy(self) -> None:
        """Checks that the environments follow the hierarchy of the task, as far as their hierarchy can be read.

        Raises:
            RewardMachineError: They follow another hierarchy.
        """
        (task,), side_by_side = self.gym_tasks, getattr(self.envs, "envs", None)
        if self.is_evaluated:
            task.made().close()
        elif side_by_side and side_by_side[0].get_wrapper_attr("hierarchy") != task.hierarchy:
            raise RewardMachineError(f"the environments follow another hierarchy than that of '{task.name}'")

    def training_environments(self, config: AgentConfig) -> VectorEnvironments:
        (task,) = self.gym_tasks
        assert task.hierarchy is not None, "vector environments are for tasks whose hierarchy is given"
        if config.environments != self.envs.num_envs:
            raise RewardMachineError(
                f"the vector environment has {self.envs.num_envs} environments, not {config.environments}"
            )
        pays = bool(config.environment_reward)
        return VectorEnvironments(self.envs, task.hierarchy, self.interface, self.codes, self.seed, pays=pays)


def function_of(envs: AnyVectorEnv) -> MakeEnv | None:
    """The function that makes each of the environments of a vector environment, if there is one for all.

    Wrapped vector environments have no such function, as wrappers may change observations.
    """
    functions = tuple(envs.env_fns) if isinstance(envs, SyncVectorEnv | AsyncVectorEnv) else ()
    is_one = bool(functions) and all(function is functions[0] for function in functions)
    return functions[0] if is_one else None


def maker_of_vector(envs: AnyVectorEnv) -> MakeEnv:
    """The function that makes each of the environments; without a common one, a function that raises an error."""
    return function_of(envs) or (lambda **_: _one_by_one())


def _one_by_one() -> NoReturn:
    raise RewardMachineError(
        "the episodes of this vector environment cannot be begun one by one, as evaluations, instances and max_steps "
        "need it: pass a function that makes one environment"
    )


def vector_of(where: Any, *, one_by_one: bool) -> AnyVectorEnv | None:
    """The vector environment that is stepped as a whole; None where environments are begun one by one.

    A warning says that there will be no evaluations, if that is so.

    Args:
        where: The environment argument, which need not be a vector environment.
        one_by_one: Whether the request needs environments that are begun one by one.

    Raises:
        RewardMachineError: Environments must be begun one by one, and no function makes them; or the environments do
            not follow the hierarchy.
    """
    if not isinstance(where, VectorEnv):
        return None
    if function_of(where) is not None:  # such environments can be given the hierarchy, if they do not follow it yet
        return None if one_by_one or not follows_hierarchy(where) else where
    if one_by_one:
        _one_by_one()
    if not follows_hierarchy(where):
        raise RewardMachineError(f"the environments do not follow the hierarchy: {WRAP_IT}")
    warnings.warn(NOT_EVALUATED, NotEvaluatedWarning, stacklevel=2)
    return where


def follows_hierarchy(envs: AnyVectorEnv) -> bool:
    """Whether the environments end their episodes by a hierarchy; true, if their hierarchy cannot be read."""
    function, side_by_side = function_of(envs), getattr(envs, "envs", None)
    if function is None:
        return not side_by_side or bool(side_by_side[0].has_wrapper_attr("hierarchy"))
    with closing(make_checked(function).env) as env:
        return bool(env.has_wrapper_attr("hierarchy"))


def autoreset_mode(envs: AnyVectorEnv) -> AutoresetMode:
    """The autoreset mode: the way in which environments begin the next episode.

    Raises:
        RewardMachineError: The environments do not begin episodes by themselves.
    """
    mode = envs.metadata.get("autoreset_mode")
    if mode not in (AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP):
        raise RewardMachineError(
            "environments that end must be reset by themselves: "
            "give the vector environment autoreset_mode=AutoresetMode.SAME_STEP or NEXT_STEP"
        )
    return AutoresetMode(mode)


def propositions_of(envs: AnyVectorEnv) -> tuple[str, ...]:
    """The propositions that the environments can observe, going by the first of them.

    Raises:
        RewardMachineError: The environments are not labelled.
    """
    try:
        found = getattr(envs, "propositions", None) or envs.get_attr("propositions")[0]  # type: ignore[attr-defined]
    except AttributeError:
        raise RewardMachineError(f"the environments are not labelled; {WRAP_IT}") from None
    return tuple(found)
