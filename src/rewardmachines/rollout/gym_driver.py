"""The driver of Gymnasium environments: the same interaction, with Python between compiled programs.

A vector step is a few programs: they choose actions, learn while the environments are stepped, process the percepts,
and begin new episodes. Each vector step sends two arrays to the device and fetches one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int32, PRNGKeyArray

from rewardmachines.agents.batches import where_rows
from rewardmachines.agents.config import AgentConfig
from rewardmachines.agents.networks import Chance
from rewardmachines.agents.protocol import Losses, Ready, Recall
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.events import is_event
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.envs.episodes import MAX_STEPS
from rewardmachines.envs.gymnasium.checked_envs import CheckedEnv, make_checked
from rewardmachines.envs.gymnasium.wrappers import HierarchyWrapper
from rewardmachines.files.records import difference, from_plain, to_plain
from rewardmachines.lowered.traversal import ACCEPT, REJECT
from rewardmachines.rollout.compile_ahead import KEPT
from rewardmachines.rollout.dead_ends import DeadEnds, Sight, sight
from rewardmachines.rollout.gym_environments import (
    COLUMNS,
    EPISODES,
    INSTANCE,
    TASK,
    EndOf,
    Environments,
    EpisodeRecord,
    Numbers,
    PackedPercept,
    are_playable,
    check_longest,
    end_by_outcome,
    end_by_verdict,
)
from rewardmachines.rollout.interaction import Interaction
from rewardmachines.rollout.interface import AnyEnv, Encode, Interface, interface_of
from rewardmachines.rollout.policy import Encoding
from rewardmachines.rollout.random_state import set_state, state_text
from rewardmachines.rollout.suite import ranked
from rewardmachines.rollout.tables import (
    NOTHING,
    Counts,
    Episodes,
    PairCounts,
    Percept,
    RunState,
    TaskTables,
    copied,
    no_tests,
)

MakeEnv: TypeAlias = Callable[..., AnyEnv]
"""A function that makes a Gymnasium environment with labels."""


@dataclass(frozen=True)
class GymTask:
    """A task of an environment whose episodes report how they end: at the goal, at a dead end, or by truncation."""

    name: str
    level: int
    """The level, from 1. Machines call machines of lower levels, and a level begins when the levels below it are
    mastered."""
    make_env: MakeEnv
    """Makes an environment that is wrapped in `LabelingWrapper`."""
    instances: int | None = None
    """The number of instances, which are fixed initial states: instance i is the result of `reset(seed=i)`. If not
    given, the environment samples the initial state of every episode, and the mean return over several episodes
    counts."""
    hierarchy: Hierarchy | None = None
    """The hierarchy that decides how episodes end, if it is given. Otherwise it is to be learned."""

    def __post_init__(self) -> None:
        if self.level < 1:
            raise RewardMachineError(f"'{self.name}': levels count from 1, not {self.level}")
        if self.instances is not None and self.instances < 1:
            raise RewardMachineError(f"'{self.name}': at least one instance, not {self.instances}; or None, for any")

    def made(self) -> AnyEnv:
        """An environment with labels, which follows the hierarchy of the task if there is one.

        Raises:
            RewardMachineError: The environment cannot be made, or follows another hierarchy already.
        """
        if self.hierarchy is None:
            return self.make_env()
        env: AnyEnv = make_checked(self.make_env, task=self.name).env
        try:
            if not env.has_wrapper_attr("hierarchy"):
                return HierarchyWrapper(env, self.hierarchy)
            if env.get_wrapper_attr("hierarchy") == self.hierarchy:
                return env
            raise RewardMachineError(
                f"the environment of '{self.name}' follows another hierarchy already: leave out its HierarchyWrapper"
            )
        except BaseException:
            env.close()
            raise


def check_names(tasks: Sequence[GymTask]) -> None:
    """Checks that there are tasks, each with a name of its own.

    Raises:
        RewardMachineError: There is no task, or two have the same name.
    """
    if not tasks:
        raise RewardMachineError("there is no task to learn")
    names = [task.name for task in tasks]
    if twice := [name for i, name in enumerate(names) if name in names[:i]]:
        raise RewardMachineError(f"two tasks are called '{twice[0]}'")


# -- programs


def unpacked(packed: PackedPercept) -> Percept:
    """The percept in the form of the interaction."""
    label = jax.lax.bitcast_convert_type(packed.numbers[:, COLUMNS:], jnp.uint32)
    return Percept(packed.memory, label, packed.end, packed.is_cut, packed.is_live, packed.reward)


class GymPrograms:
    """The compiled programs between steps of environments: several small ones compile faster than a large one."""

    def __init__(self, interaction: Interaction) -> None:
        self.interaction = interaction
        # A donated state cannot be used again: its arrays are written in place.
        self.begin = jax.jit(self._begin)
        self.restart = jax.jit(self._restart, donate_argnums=1)
        self.explore = jax.jit(self._explore, donate_argnums=1)
        self.learn = jax.jit(self._learn, donate_argnums=1)
        self.observe = jax.jit(self._observe, donate_argnums=1)
        self.exploit = jax.jit(self._exploit)
        self.follow = jax.jit(self._follow)
        self.exploration = jax.jit(interaction.agent.exploration)

    # -- exploring, with N environments

    def _begin(self, tables: TaskTables, packed: PackedPercept, key: PRNGKeyArray) -> Episodes:
        """The beginnings of episodes. The key may have another use: a new key is derived from it."""
        task, instance = packed.numbers[:, TASK], packed.numbers[:, INSTANCE]
        return self.interaction.begin(tables, task, instance, unpacked(packed), jax.random.fold_in(key, 1))

    def _restart(
        self, tables: TaskTables, episodes: Episodes, which: Bool[Array, " N"], packed: PackedPercept, key: PRNGKeyArray
    ) -> Episodes:
        """Episodes, with new ones in the selected environments."""
        restarted: Episodes = where_rows(which, self._begin(tables, packed, key), episodes)
        return restarted

    def _explore(
        self, tables: TaskTables, state: RunState, is_resting: Bool[Array, " N"] | None = None
    ) -> tuple[Int32[Array, "2 N"], RunState]:
        """Actions, and in a second row whether they are taken: false in environments that wait or rest."""
        key, explore_key = jax.random.split(state.key)
        actions, agent, episodes = self.interaction.explore(
            tables, state.agent, state.episodes, explore_key, is_resting
        )
        search, is_live = episodes.search, jnp.ones_like(actions)
        if search is not None:
            is_live = (search.waiting == NOTHING).astype(jnp.int32)
        elif is_resting is not None:
            is_live = (~is_resting).astype(jnp.int32)
        return jnp.stack([actions, is_live]), state._replace(agent=agent, episodes=episodes, key=key)

    def _learn(self, tables: TaskTables, state: RunState, ready: Ready) -> tuple[RunState, Losses]:
        """A round of learning from the replay memory."""
        key, learn_key = jax.random.split(state.key)
        agent, losses = self.interaction.agent.learn(tables.task, state.agent, learn_key, ready)
        return state._replace(agent=agent, key=key), losses

    def _observe(
        self, tables: TaskTables, state: RunState, chosen: Int32[Array, "2 N"], packed: PackedPercept
    ) -> tuple[RunState, Bool[Array, " N"], PairCounts | None]:
        """The state after a step, the mask of episodes that are over, after which new ones begin, and their tests."""
        key, observe_key = jax.random.split(state.key)
        agent, episodes, endings = self.interaction.observe(
            tables, state.agent, state.episodes, chosen[0], unpacked(packed), observe_key
        )
        tested = self.interaction.tested(tables, episodes, endings)
        return state._replace(agent=agent, episodes=episodes, key=key), endings.is_over, tested

    # -- evaluating, with E environments

    def _exploit(
        self, tables: TaskTables, agent: Any, episodes: Episodes, key: PRNGKeyArray
    ) -> tuple[Int32[Array, " E"], Episodes, PRNGKeyArray]:
        """Greedy actions, the episodes with the plans behind them, and the next key."""
        key, act_key = jax.random.split(key)
        return *self.interaction.exploit(tables, agent, episodes, act_key), key

    def _follow(
        self,
        tables: TaskTables,
        episodes: Episodes,
        actions: Int32[Array, " E"],
        packed: PackedPercept,
        key: PRNGKeyArray,
    ) -> tuple[Bool[Array, "2 E"], Episodes, PRNGKeyArray]:
        """The mask of episodes that are over, in the first row; of those that reached the goal, in the second."""
        key, follow_key = jax.random.split(key)
        after, is_over, won = self.interaction.follow(tables, episodes, actions, unpacked(packed), follow_key)
        return jnp.stack([is_over, won]), after, key


gym_programs = lru_cache(KEPT)(GymPrograms)
"""The programs of an interaction. Equal interactions share their programs, so that nothing is compiled twice."""


# -- greedy episodes


class GymEvaluation:
    """Greedy episodes of every task in each instance; without instances, the mean over several episodes."""

    def __init__(
        self, tasks: Sequence[GymTask], instances: int, make_environments: Callable[[int], Environments]
    ) -> None:
        pairs = [
            (task, instance)
            for task, own in enumerate(tasks)
            for instance in range(instances)
            for _ in range(1 if own.instances is not None else -(-EPISODES // instances))
        ]
        self._shape = len(tasks), instances
        self._task, self._instance = np.array(pairs, np.int32).T
        self._environments = make_environments(len(pairs))

    @property
    def begun(self) -> tuple[int, ...]:
        """The number of episodes that each environment has begun, which determines the seeds of the next."""
        return tuple(self._environments.begun)

    @begun.setter
    def begun(self, counts: Sequence[int]) -> None:
        self._environments.begun = list(counts)

    def close(self) -> None:
        """Closes the environments; the next evaluation makes new ones."""
        self._environments.close()

    def run(
        self, programs: GymPrograms, tables: TaskTables, agent: Any, wanted: Numbers, key: PRNGKeyArray
    ) -> tuple[Numbers, Numbers]:
        """The mean returns and lengths of episodes of the wanted tasks, by task and instance; 0 for all other tasks."""
        won, length = self._played(programs, tables, agent, wanted[self._task], key)
        return self._means(won), self._means(length)

    def _means(self, values: Numbers) -> Numbers:
        total, count = np.zeros(self._shape), np.zeros(self._shape)
        np.add.at(total, (self._task, self._instance), values)
        np.add.at(count, (self._task, self._instance), 1)
        mean: Numbers = total / count
        return mean

    def _played(
        self, programs: GymPrograms, tables: TaskTables, agent: Any, goes_on: Numbers, key: PRNGKeyArray
    ) -> tuple[Numbers, Numbers]:
        """1 for each of the selected episodes that reaches its goal, 0 for all others; and their lengths."""
        won, length = np.zeros(len(goes_on)), np.zeros(len(goes_on))
        if not goes_on.any():
            return won, length
        environments = self._environments
        percept = environments.begin(np.flatnonzero(goes_on).tolist(), self._task, self._instance)
        episodes = programs.begin(tables, percept, key)
        while goes_on.any():
            actions, episodes, key = programs.exploit(tables, agent, episodes, key)
            percept = environments.step(np.flatnonzero(goes_on).tolist(), np.asarray(actions))
            endings, episodes, key = programs.follow(tables, episodes, actions, percept, key)
            is_over, has_won = np.asarray(endings)
            length += goes_on
            won += goes_on & has_won
            goes_on = goes_on & ~is_over
        return won, length


# -- the driver


class AnyEnvironments(Protocol):
    """N environments: `Environments`, which are begun one by one, or those of a vector environment."""

    task: Numbers
    """The numbers of the tasks, [N]."""
    cut_off: int
    """Episodes that were truncated by a limit of steps."""

    @property
    def is_resting(self) -> Numbers | None:
        """The mask [N] of environments that the next step only resets; None if no environment ever rests."""

    @property
    def labels(self) -> list[Label]:
        """The present labels."""

    def begin(self, indices: Iterable[int], task: Numbers, instance: Numbers) -> PackedPercept:
        """Begins new episodes in some environments, and says what all show."""

    def present(self) -> PackedPercept:
        """The percept of all environments. No episode has ended."""

    def step(self, indices: Iterable[int], actions: Numbers) -> PackedPercept:
        """Steps some environments, and returns the percept of all, with the ends of episodes."""

    def records(self) -> tuple[EpisodeRecord, ...]:
        """A record of the current episode of each environment; none, if episodes cannot be replayed."""

    def replay(self, records: Sequence[EpisodeRecord]) -> Numbers:
        """Replays an episode in each environment. Returns a mask of those in which a new episode must begin."""

    def close(self) -> None:
        """Closes the environments."""


@dataclass(frozen=True)
class GymDriver:
    """Steps Gymnasium environments, which the suite closes, with compiled programs between the steps."""

    programs: GymPrograms
    environments: AnyEnvironments
    evaluation: GymEvaluation | None
    """None if greedy episodes cannot be begun."""
    tasks: tuple[str, ...]
    instances: int
    chance: Chance
    """The random generator of tasks and instances, which all drivers of a suite share."""
    dead_ends: DeadEnds | None = None
    """The counters of dead ends by label, while machines are learned."""

    @property
    def interaction(self) -> Interaction:
        return self.programs.interaction

    # -- beginnings

    def create(self, tables: TaskTables, chance: Chance, key: PRNGKeyArray) -> RunState:
        percept = self._begin(_weights(tables), np.ones(self.interaction.agent.config.environments, bool))
        return self._created(tables, percept, chance, key)

    def _created(self, tables: TaskTables, percept: PackedPercept, chance: Chance, key: PRNGKeyArray) -> RunState:
        episodes = self.programs.begin(tables, percept, key)
        agent = self.interaction.agent.create(tables.task, episodes.now[0], chance)
        created: RunState = copied(RunState(agent, episodes, (), jnp.int32(0), key))
        return created

    def shapes(self, tables: TaskTables) -> Any:
        chance, key = np.random.default_rng(0), jax.random.key(0)
        return jax.eval_shape(lambda: self._created(tables, self.environments.present(), chance, key))

    def _begin(self, weights: Numbers, which: Numbers) -> PackedPercept:
        """Begins episodes of tasks and instances that are drawn, in the environments that the mask selects."""
        indices = np.flatnonzero(which)
        drawn = np.zeros(len(which), np.int64)
        if len(indices):
            drawn[indices] = self.chance.choice(len(weights), size=len(indices), p=weights)
        return self.environments.begin(indices.tolist(), drawn // self.instances, drawn % self.instances)

    def restart(self, tables: TaskTables, state: RunState, which: Any) -> RunState:
        percept = self._begin(_weights(tables), np.asarray(which))
        episodes = self.programs.restart(tables, state.episodes, np.asarray(which), percept, state.key)
        return state._replace(episodes=episodes)

    # -- a chunk

    def chunk(self, tables: TaskTables, state: RunState, *, learns: bool, most: int) -> tuple[RunState, Counts]:
        counts, steps = np.zeros((2, len(self.tasks)), np.int32), 0
        weights, losses, config = _weights(tables), list[Losses](), self.interaction.agent.config
        unlearned, every, tests = int(state.unlearned), config.environments, no_tests(tables)
        for _ in range(config.chunk):
            on_device, state = self.programs.explore(tables, state, self.environments.is_resting)
            chosen = np.asarray(on_device)
            live = int(chosen[1].sum())
            # Where all environments rest, the step has no action in it, but it resets them.
            rests = self.environments.is_resting is not None and self.environments.is_resting.any()
            if (live == 0 and not rests) or counts[0].sum() >= most:
                break
            steps, unlearned = steps + live, unlearned + live
            if unlearned >= every:  # the device learns while the environments are stepped
                unlearned -= every
                state, loss = self.programs.learn(tables, state, learns)
                losses.append(loss)
            state, tested = self._stepped(tables, state, chosen, weights, counts)
            tests = jax.tree.map(jnp.add, tests, tested)
        rate = self.programs.exploration(tables.task, state.agent)
        total = Counts(jnp.asarray(counts[0]), jnp.asarray(counts[1]), jnp.int32(steps), _mean(losses), rate, tests)
        return state._replace(unlearned=jnp.int32(unlearned)), total

    def _stepped(
        self, tables: TaskTables, state: RunState, chosen: Numbers, weights: Numbers, counts: Numbers
    ) -> tuple[RunState, PairCounts | None]:
        """Steps the environments, and begins new episodes where episodes are over. Returns their tests, too.

        Args:
            tables: The hierarchies.
            state: The state in which the actions were chosen.
            chosen: Actions, and the mask of those that are taken, [2, N].
            weights: The sampling weight of each pair of a task and an instance.
            counts: Episodes and goals by task, [2, T], which are added to.
        """
        percept = self._acted(chosen, counts)
        state, is_over, tested = self.programs.observe(tables, state, chosen, percept)
        # An environment that has ended is reset at once, even if its trace still waits: the agent's half, which knows,
        # goes on only where nothing waits. Thus it need not be fetched from the device which ones wait.
        begins, which = percept.is_over, is_over
        if percept.is_live is not None:  # environments that rest are reset by a step of their own
            begins = which = ~percept.is_live
        if not begins.any():
            return state, tested
        percept = self._begin(weights, begins)
        episodes = self.programs.restart(tables, state.episodes, which, percept, state.key)
        return state._replace(episodes=episodes), tested

    def _acted(self, chosen: Numbers, counts: Numbers) -> PackedPercept:
        """Steps the environments that do not wait, and counts the episodes that end."""
        environments, before = self.environments, list(self.environments.labels)
        percept = environments.step(np.flatnonzero(chosen[1]).tolist(), chosen[0])
        np.add.at(counts[0], environments.task[percept.is_over], 1)
        np.add.at(counts[1], environments.task[percept.end == ACCEPT], 1)
        if self.dead_ends is not None:
            self._watch(self.dead_ends, before, percept.end)
        return percept

    def _watch(self, dead_ends: DeadEnds, before: Sequence[Label], end: Numbers) -> None:
        """Counts the events that labels indicated: whether episodes went on there, or how they ended."""
        for i, (old, new) in enumerate(zip(before, self.environments.labels, strict=True)):
            changed = is_event(old, new)
            if not changed and end[i] != REJECT:
                continue
            what = sight(new, is_event=changed, is_goal=end[i] == ACCEPT, is_dead_end=end[i] == REJECT)
            if what is not None:
                dead_ends.see(self.tasks[self.environments.task[i]], new, what)

    # -- evaluation

    def evaluate(self, tables: TaskTables, agent: Any, wanted: Any, seed: int) -> tuple[Any, Any] | None:
        if self.evaluation is None:
            return None
        is_wanted = np.asarray(wanted)
        if tables.exploration is not None:
            is_wanted = is_wanted & np.asarray(tables.exploration.is_learned)
        return self.evaluation.run(self.programs, tables, agent, is_wanted, jax.random.key(seed))


def _weights(tables: TaskTables) -> Numbers:
    """The sampling weight of each pair of a task and an instance, in one row: the instances of a task in sequence."""
    weights = np.asarray(tables.chances, np.float64).reshape(-1)
    drawn: Numbers = weights / weights.sum()
    return drawn


def _mean(losses: Sequence[Losses]) -> Losses:
    """The mean losses over a chunk; 0 without updates."""
    if not losses:
        return Losses(jnp.float32(0), jnp.float32(0))
    return Losses(*(jnp.stack(kind).mean() for kind in zip(*losses, strict=True)))


# -- the suite


@dataclass(frozen=True)
class SightRecord:
    """The number of events of each kind that a label indicated in the episodes of a task; see `rollout.dead_ends`."""

    task: str
    label: tuple[str, ...]
    sight: str
    times: int


@dataclass(frozen=True)
class GymRecord:
    """The state of a suite of Gymnasium environments, which cannot be saved themselves: episodes are replayed."""

    chance: str
    """The state of the generator that draws tasks and instances, as JSON."""
    episodes: tuple[EpisodeRecord, ...]
    """The current episode of each environment; none for a vector environment, whose episodes cannot be replayed."""
    evaluations: tuple[int, ...]
    """The number of episodes that each environment for evaluations has begun."""
    sights: tuple[SightRecord, ...]
    """The events that labels indicated."""
    cut_off: int
    """Episodes that were truncated by a limit of steps."""


class GymSuite:
    """Tasks in Gymnasium environments. Their state cannot be saved, so a resumed run replays its current episodes.

    Environments belong to the suite, not to a driver: drivers with the same number of environments share them. Each is
    made when it is first needed, and stays open until the suite is closed. The same holds for the environments for
    evaluations, which have no other use.
    """

    def __init__(
        self,
        tasks: Sequence[GymTask],
        *,
        encode: Encode | None = None,
        max_steps: int = MAX_STEPS,
        seed: int = 0,
        interface: Interface | None = None,
        labels: Iterable[Label] | None = None,
    ) -> None:
        """Makes an environment of each task once, to determine their common interface.

        Args:
            tasks: The tasks, all with a hierarchy or all without.
            encode: A function that encodes observations as arrays; or `"channels-first"`, for pictures.
            max_steps: Steps after which an episode is truncated.
            seed: The seed of the environments and of sampled tasks and instances.
            interface: The interface of the environments, if known: then no environment is made yet.
            labels: All labels that can be observed; if not given, any label.

        Raises:
            RewardMachineError: There is no task, two have the same name, or their environments do not fit together.
        """
        check_names(tasks)
        check_longest(max_steps)
        self.tasks = ranked({task.name: task.level for task in tasks})
        named = {task.name: task for task in tasks}
        self.gym_tasks = tuple(named[task.name] for task in self.tasks)
        self.has_hierarchies = all(task.hierarchy is not None for task in tasks)
        self.max_steps, self.seed = max_steps, seed
        self.interface = self.looked_at(encode) if interface is None else interface
        self.codes = self.interface.codes(labels)
        self.propositions = self.interface.propositions
        self.instances = self.curriculum_instances = max(task.instances or 1 for task in tasks)
        self.world = jnp.int32(0)
        self.shape = self.interface.observations.shape
        self.actions = self.interface.actions
        self.dead_ends = DeadEnds()
        self._chance = np.random.default_rng([seed, 1])
        self._environments: dict[int, AnyEnvironments] = {}
        """The environments, by their number."""
        self._evaluation: GymEvaluation | None = None
        self._cut_off = 0
        """Episodes that were truncated before the run was resumed."""

    def looked_at(self, encode: Encode | None) -> Interface:
        """The common interface of all tasks, from one environment of each, which is made and closed.

        Raises:
            RewardMachineError: The environments differ in their interfaces.
        """
        envs = list[CheckedEnv]()
        try:
            for task in self.gym_tasks:  # all environments that were made are closed in any case
                envs.append(make_checked(task.made, task=task.name))
            return interface_of(self.gym_tasks, envs, encode)
        finally:
            for env in envs:
                env.close()

    @property
    def recall(self) -> Recall:
        return self.interface.observations.recall

    @property
    def dependencies(self) -> Mapping[str, tuple[str, ...]]:
        """Empty: the true machines of these tasks are not known."""
        return {}

    @property
    def cut_off(self) -> int:
        """The number of episodes that were truncated by a step limit."""
        return self._cut_off + sum(environments.cut_off for environments in self._environments.values())

    def driver(self, interaction: Interaction) -> GymDriver:
        config = interaction.agent.config
        count = config.environments
        if count not in self._environments:
            self._environments[count] = self.training_environments(config)
        if self._evaluation is None and self.is_evaluated:
            limit = min(self.max_steps, config.evaluate_steps or self.max_steps)
            self._evaluation = GymEvaluation(
                self.gym_tasks, self.instances, lambda count: self._made_environments(count, limit, self.seed + 1)
            )
        return GymDriver(
            programs=gym_programs(interaction),
            environments=self._environments[count],
            evaluation=self._evaluation,
            tasks=tuple(task.name for task in self.tasks),
            instances=self.instances,
            chance=self._chance,
            dead_ends=self.dead_ends if interaction.learns_machines else None,
        )

    @property
    def is_evaluated(self) -> bool:
        """Whether greedy episodes can be begun."""
        return True

    def training_environments(self, config: AgentConfig) -> AnyEnvironments:
        """The environments that an agent with these settings is trained in; none is opened yet."""
        pays = bool(config.environment_reward)
        return self._made_environments(config.environments, self.max_steps, self.seed, pays=pays)

    def _made_environments(self, count: int, longest: int, seed: int, *, pays: bool = False) -> Environments:
        """Several parallel environments; none is opened yet."""
        end_of: EndOf = end_by_verdict if self.has_hierarchies else end_by_outcome
        return Environments(self.gym_tasks, self.interface, self.codes, count, longest, seed, end_of, pays=pays)

    @property
    def encoding(self) -> Encoding:
        observations = self.interface.observations
        if observations.is_encoded and observations.encode is None:
            observations = observations.with_encode(None)  # says what is missing
        return Encoding(
            observations.checked,
            self.codes.one,
            observations.blank,
            observations.recall,
            action=self.interface.action,
        )

    def check(self, encode: Encode | None, where: str) -> None:
        """Checks the environments of all tasks, of which one each is made and closed."""
        found, expected = self.looked_at(encode).without_names, self.interface.without_names
        if differs := difference(found, expected):
            raise RewardMachineError(f"{where}: the run was begun in another environment: {differs}")

    # -- the saved state of a run

    def record(self) -> Any:
        """The state of the suite between two chunks of a run that has begun: the plain values of a `GymRecord`."""
        (environments,) = self._environments.values()
        record = GymRecord(
            chance=state_text(self._chance),
            episodes=environments.records(),
            evaluations=() if self._evaluation is None else self._evaluation.begun,
            sights=tuple(
                SightRecord(task, tuple(sorted(label)), what.value, times)
                for (task, label, what), times in self.dead_ends.counts.items()
            ),
            cut_off=self.cut_off,
        )
        return to_plain(record)

    def restore(self, record: Any, where: str) -> Numbers:
        """Restores the state of a record. Episodes are replayed; those that cannot be replayed begin anew.

        Raises:
            RewardMachineError: The record is damaged, or belongs to another run.
        """
        if record is None:
            raise RewardMachineError(f"{where}: damaged, its episodes are missing")
        return self._restored(from_plain(GymRecord, record, f"{where}, suite"), where)

    def _restored(self, record: GymRecord, where: str) -> Numbers:
        (environments,) = self._environments.values()
        self._check(record, where)
        set_state(self._chance, record.chance, where)
        if self._evaluation is not None and record.evaluations:
            self._evaluation.begun = record.evaluations
        for seen in record.sights:
            self.dead_ends.see(seen.task, frozenset(seen.label), Sight(seen.sight), seen.times)
        self.dead_ends.news()  # already reported
        self._cut_off = record.cut_off
        return environments.replay(record.episodes)

    def _check(self, record: GymRecord, where: str) -> None:
        (environments,) = self._environments.values()
        evaluations = 0 if self._evaluation is None else len(self._evaluation.begun)
        if (
            len(record.episodes) not in (0, len(environments.task))
            or len(record.evaluations) not in (0, evaluations)
            or not are_playable(record.episodes, tasks=len(self.tasks), actions=self.actions)
            or not {seen.sight for seen in record.sights} <= {sight.value for sight in Sight}
        ):
            raise RewardMachineError(f"{where}: damaged, its episodes are not those of the run")

    def close(self) -> None:
        """Closes all environments. A driver that goes on begins its next episodes in new ones."""
        if self._evaluation is not None:
            self._evaluation.close()
        for environments in self._environments.values():
            environments.close()
