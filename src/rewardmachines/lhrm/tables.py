"""The knowledge of LHRM as arrays: machines, options and the formula tree are written, enlarged, and reset.

`OptionRegistry` holds the labels and formulas that options depend on, and writes them as arrays. `build_tables` makes
the tables of a run and finds a driver for them; `first_state` and `grown_state` make the state of the run, and
`with_new_formulas` and `with_new_machines` reset the Q-functions of changed formulas and machines.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from rewardmachines.agents.bank.agent import with_calls
from rewardmachines.agents.bank.bank import Bank
from rewardmachines.agents.config import Layout
from rewardmachines.agents.hierarchical_dqn import call_q, formula_q
from rewardmachines.agents.hierarchical_dqn.agent import AgentState, HierarchicalAgent, enlarged
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.hierarchical_dqn.task import OptionTask
from rewardmachines.agents.networks import Chance, put_into
from rewardmachines.agents.options.formula_tree import FormulaTree, inherited
from rewardmachines.agents.options.option_set import OptionSet, Slots
from rewardmachines.agents.options.tables import OptionCapacity, OptionTables, tabulate
from rewardmachines.agents.options.tables import capacity_for as options_for
from rewardmachines.core.formula import Conjunction, Formula, Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import Edge, RewardMachine, machine
from rewardmachines.lhrm.config import Exploration, LhrmConfig
from rewardmachines.lhrm.conformance import CLOSED, EVENTS, POSITIONS, Positions
from rewardmachines.lhrm.curriculum import Curriculum, curriculum
from rewardmachines.lhrm.evidence import SAMPLE_RATE
from rewardmachines.lhrm.exploration import STRATEGIES, StrategyInputs
from rewardmachines.lhrm.induction import Machines
from rewardmachines.lhrm.machine_pool import Pool, without_machine_yet
from rewardmachines.lhrm.suspects import suspect_tasks, tasks_to_check, unconfirmed_tasks
from rewardmachines.lowered import Capacity, LoweredHierarchy, lower
from rewardmachines.lowered.hierarchy import capacity_for
from rewardmachines.rollout.interaction import Interaction
from rewardmachines.rollout.suite import Driver, TaskSpec, TaskSuite
from rewardmachines.rollout.tables import ExplorationTables, PairTables, RunState, TaskTables

# New machines should fit without a new compilation, but unused room costs computation as well.
ROOM: Final = Capacity(machines=32, states=8, chains=16, depth=4, edges=8, disjuncts=1)
OPTION_ROOM: Final = OptionCapacity(outputs=16, contexts=32, formulas=64, slots=16)
RANDOM_WALK: Final = "random walk"
"""The name of the machine of random walks, which never moves and has no options."""


def room_for(tasks: Sequence[TaskSpec], propositions: Sequence[str]) -> Capacity:
    """The room for machines at first: as deep as the levels allow, with machines for tasks and exploration options."""
    machines = len(tasks) + len(propositions) + 8
    return replace(ROOM, machines=-(-machines // 8) * 8, depth=max(1, max(task.level for task in tasks) - 1))


class ExploredOptions(NamedTuple):
    """Exploration options as arrays, with the names of `ExplorationTables`."""

    machine: Any
    is_available: Any
    is_proposition: Any
    random_walk: Any


@dataclass(frozen=True)
class WrittenOptions:
    """Machines and options as arrays, with the names of their numbers."""

    options: OptionTables
    explored: ExploredOptions
    lowered: LoweredHierarchy
    """The machines, by their numbers: those of the tasks first."""
    option_set: OptionSet
    """The options of each machine."""
    pursuers: Mapping[Conjunction, int]
    """The number of the exploration option that seeks each formula."""

    def tables(
        self,
        world: Any,
        chances: Float[Array, "T I"],
        is_learned: Bool[Array, " T"],
        is_suspect: Bool[Array, " T"],
        pairs: PairTables | None = None,
    ) -> TaskTables:
        """The arrays of tasks.

        Args:
            world: The arrays from which observations are computed again.
            chances: The sampling weight of each pair of a task and an instance.
            is_learned: Whether a task has a machine whose verdicts are judged.
            is_suspect: Whether this machine is suspect.
            pairs: The pairs that machines are tested on, if they are.
        """
        return TaskTables(
            task=OptionTask(world, self.lowered.tables, self.options),
            root=jax.device_put(np.arange(len(is_learned), dtype=np.int32)),
            chances=chances,
            exploration=ExplorationTables(is_learned, is_suspect, *self.explored, pairs),
        )


@dataclass
class OptionRegistry:
    """The labels and formulas that options depend on. `write` makes arrays of them, in shapes with spare room."""

    labels: frozenset[Label] = frozenset()
    """All labels that were seen."""
    fatal: frozenset[Label] = frozenset()
    """Labels at which episodes have ended in dead ends."""
    tree: FormulaTree = field(default_factory=FormulaTree)
    """All formulas of options, with special formulas below general ones."""
    slots: dict[Conjunction, int] = field(default_factory=dict)
    """The number of the Q-function of each root of the tree."""
    room: Capacity = field(default_factory=lambda: ROOM)
    """The sizes of the arrays of machines; `option_room` has those of options."""
    option_room: OptionCapacity = field(default_factory=lambda: OPTION_ROOM)
    contexts: tuple[Conjunction, ...] = ()
    """Contexts in the order of their numbers, which never change."""
    changes: list[Label | Conjunction] = field(default_factory=list)
    """The labels and formulas that the tree has received, in order, with which it and the slots can be made again."""
    used: int = 0
    """The number of slots that have ever been taken."""
    renewed: set[int] = field(default_factory=set)
    """Slots that new formulas have taken over from others, whose Q-functions are still in them."""

    @property
    def sizes(self) -> tuple[Capacity, OptionCapacity]:
        """The sizes of all arrays. While they stay the same, nothing is compiled anew."""
        return self.room, self.option_room

    @property
    def events(self) -> tuple[Label, ...]:
        """The labels that were seen, without the empty one, in the order in which they were first seen."""
        return tuple(change for change in self.changes if isinstance(change, frozenset) and change)

    def see(self, labels: Iterable[Label], fatal: Iterable[Label] = ()) -> bool:
        """Records observed labels.

        Args:
            labels: The labels.
            fatal: The labels at which episodes have ended in dead ends.

        Returns:
            Whether there was anything new.
        """
        new = sorted(set(labels) - self.labels, key=sorted)
        for label in new:
            self._change(label)
        before, self.fatal = self.fatal, self.fatal.union(fatal)
        return bool(new) or self.fatal != before

    def repeat(self, changes: Iterable[Label | Conjunction]) -> None:
        """Repeats the changes of another registry, so that this one has its tree and its slots."""
        for change in changes:
            self._change(change)
        self.renewed.clear()

    def _change(self, change: Label | Conjunction) -> None:
        """Adds a label or a formula to the tree. A formula that stops being a root leaves its slot to its new root."""
        before = self.tree.roots
        if isinstance(change, Conjunction):
            if change in self.tree:
                return
            self.tree.add(change)
        else:
            self.labels |= {change}
            self.tree.observe(change)
        self.changes.append(change)
        heirs = inherited(before, self.tree)
        former = {root: heirs.get(root, root) for root in self.tree.roots}
        slots = {root: self.slots[own] for root, own in former.items() if own in self.slots}
        for root in self.tree.roots:
            if root not in slots:
                slots[root] = self._unused(slots.values())
        self.slots = {root: slots[root] for root in self.tree.roots}

    def _unused(self, taken: Collection[int]) -> int:
        """The first slot that is not taken. If it was taken before, its Q-function must be reset."""
        slot = next(n for n in range(len(taken) + 1) if n not in taken)
        if slot < self.used:
            self.renewed.add(slot)
        self.used = max(self.used, slot + 1)
        return slot

    def _is_seen(self, formula: Conjunction) -> bool:
        return any(formula.holds(label) for label in self.labels)

    def write(
        self,
        pool: Pool,
        mastered: Sequence[str],
        way: Exploration,
        trained: Collection[str] | None = None,
        *,
        has_detours: bool = False,
        tested: Sequence[Label] = (),
    ) -> WrittenOptions:
        """Writes machines and options as arrays, and makes more room for them if they need it.

        The formula tree receives all formulas before exploration options are chosen, so that repeated writing, as in a
        resumed run, gives equal arrays.

        Args:
            pool: The machines.
            mastered: The tasks that are explored with.
            way: The exploration strategy.
            trained: The tasks whose formulas learn, beside those that are explored with; all, if not given.
            has_detours: Whether there are random walks, so that their machine is needed.
            tested: Labels that are pursued where machines are tested, also those that exploration leaves out.
        """
        followed = (*pool.given, *(pool.learned[name] for name in mastered if name in pool.learned))
        explored = STRATEGIES[way](StrategyInputs(followed, self.labels, self.fatal))
        pursued = tuple(one for one in map(Conjunction, tested) if one not in explored.propositions)
        sought = (*explored.propositions, *pursued)
        for formula in (*self._option_set(pool.hierarchy(pool.tasks[0].name)).formulas, *sought):
            if self._is_seen(formula):
                self._change(formula)
        roots = dict.fromkeys(map(self.tree.root_of, explored.formulas))
        formulas = [root for root in roots if root not in explored.propositions]
        seekers = _seekers((*formulas, *sought), pool)
        walks = [without_machine_yet(_free_name(RANDOM_WALK, pool))] if has_detours else []
        machines = (*pool.machines, *seekers, *walks)
        whole = Hierarchy(machines[0].name, machines, pool.propositions)
        lowered, option_set = self._lowered(whole), self._option_set(whole)
        self.contexts = option_set.contexts
        slots = Slots(self.tree, self.slots)
        self.option_room = self.option_room.grown(options_for(option_set, slots))
        learning = None
        if trained is not None:
            learning = self._formulas_of(whole, {*trained, *explored.machines}) | {*formulas, *sought}
        names = [machine.name for machine in pool.machines]
        chosen = [*map(names.index, explored.machines), *range(len(names), len(names) + len(seekers))]
        options = tabulate(option_set, slots, lowered, self.option_room, learning)
        if pool.given:
            options = options._replace(learns_calls=self._learning_machines(pool))
        machine = np.zeros(self.room.machines, np.int32)
        machine[: len(chosen)] = chosen
        numbers = np.arange(self.room.machines)
        is_available = numbers < len(chosen) - len(pursued)
        first = len(chosen) - len(sought)
        is_proposition = (numbers < len(chosen)) & (numbers >= first)
        found = ExploredOptions(machine, is_available, is_proposition, np.int32(len(machines) - 1))
        pursuers = {formula: first + i for i, formula in enumerate(sought)}
        return WrittenOptions(options, jax.device_put(found), lowered, option_set, pursuers)

    def _learning_machines(self, pool: Pool) -> Bool[Array, " M"]:
        """All machines except given ones, whose policies for calls are known."""
        number, first = np.arange(self.room.machines), len(pool.tasks)
        learns: Bool[Array, " M"] = jax.device_put((number < first) | (number >= first + len(pool.given)))
        return learns

    def _formulas_of(self, whole: Hierarchy, tasks: Collection[str]) -> frozenset[Conjunction]:
        """The formulas of the machines of some tasks, and of those that they call."""
        if not tasks:
            return frozenset()
        needed = {machine.name: machine for task in tasks for machine in whole.rooted(task).reachable()}
        part = Hierarchy(min(needed), tuple(needed.values()), whole.propositions)
        return frozenset(self._option_set(part).formulas)

    def _lowered(self, whole: Hierarchy) -> LoweredHierarchy:
        """All machines as arrays, each of them a root."""
        self.room = self.room.grown(capacity_for(whole))
        roots = [whole.rooted(machine.name) for machine in whole.machines]
        return lower(roots, propositions=whole.propositions, capacity=self.room)

    def _option_set(self, whole: Hierarchy) -> OptionSet:
        return OptionSet(whole, tuple(sorted(self.labels, key=sorted)), self.contexts)


def _seekers(formulas: Iterable[Conjunction], pool: Pool) -> list[RewardMachine]:
    """A machine for each formula that accepts as soon as the formula holds."""
    edges = (Edge("u0", "uA", Formula(frozenset({formula}))) for formula in formulas)
    return [machine(_free_name(f"formula {number}", pool), [edge]) for number, edge in enumerate(edges)]


def _free_name(name: str, pool: Pool) -> str:
    """The name with apostrophes added until it differs from the names of all tasks and given machines."""
    taken = {machine.name for machine in pool.machines}
    while name in taken:
        name += "'"
    return name


# -- the tables of a run, and their driver


class BuiltTables(NamedTuple):
    """The tables of a run, the driver that acts on them, and the names of their numbers."""

    tables: TaskTables
    driver: Driver
    written: WrittenOptions


def build_tables(
    suite: TaskSuite, config: LhrmConfig, machines: Machines, registry: OptionRegistry, curriculum: Curriculum
) -> BuiltTables:
    """Writes machines and options as arrays, and finds a driver for hierarchies of the height that fits into them.

    Args:
        suite: The tasks and their environments.
        config: All settings.
        machines: The machines that were learned.
        registry: The registry of options, which enlarges arrays if necessary.
        curriculum: The present level, and which tasks are mastered.
    """
    tasks = [task.name for task in suite.tasks]
    mastered = [name for name, is_done in zip(tasks, curriculum.is_mastered, strict=True) if is_done]
    trained = _trained(suite.tasks, curriculum.level, config.agent.layout)
    labels = machines.testing.labels if config.tests else ()
    has_detours = config.detour_rate > 0
    written = registry.write(
        machines.pool, mastered, config.explores_with, trained, has_detours=has_detours, tested=labels
    )
    judged = [name in machines.pool.learned and machines.progress[name].problem is None for name in tasks]
    is_learned = jax.device_put(np.asarray(judged))
    chances, is_suspect = drawing_chances(machines, curriculum, config), suspects(machines, curriculum, config)
    pairs = None
    if config.tests:
        pairs = with_efforts(_first_pairs(written, machines), machines, curriculum)
    tables = written.tables(suite.world, chances, is_learned, is_suspect, pairs)
    return BuiltTables(tables, suite.driver(interaction_of(suite, config, registry.room.depth + 1)), written)


def position_table(lowered: LoweredHierarchy, tested: Sequence[Positions]) -> Any:
    """The numbers of positions by task, the state of its own machine, the machine that runs, and its state.

    Args:
        lowered: The machines of all tasks, as arrays.
        tested: The positions of each task.
    """
    numbers = {name: number for number, name in enumerate(lowered.machines)}
    machines, states = lowered.capacity.machines, lowered.capacity.states
    table = np.full((len(tested), states, machines, states), -1, np.int32)
    for task, positions in enumerate(tested):
        for place, number in positions.numbers.items():
            root = lowered.states[positions.hierarchy.root].index(place.root)
            state = lowered.states[place.machine].index(place.state)
            table[task, root, numbers[place.machine], state] = number
    return table


def _first_pairs(written: WrittenOptions, machines: Machines) -> PairTables:
    """The pairs that machines are tested on, by their numbers, before their efforts are known."""
    lowered, labels, tasks = written.lowered, machines.testing.labels, machines.pool.tasks
    position = position_table(lowered, [machines.positions(task.name) for task in tasks])
    label = np.zeros((EVENTS, lowered.bits.words), np.uint32)
    label[: len(labels)] = lowered.bits.encode_all(labels)
    option = np.full(EVENTS, -1, np.int32)
    option[: len(labels)] = [written.pursuers[Conjunction(one)] for one in labels]
    effort, is_tested = np.zeros((len(tasks), POSITIONS, EVENTS), np.int32), np.zeros(len(tasks), bool)
    is_label = np.arange(EVENTS) < len(labels)
    arrays = (position, label, is_label, option, effort, np.int32(CLOSED), is_tested)
    return PairTables(*jax.device_put(arrays))


def with_efforts(pairs: PairTables, machines: Machines, curriculum: Curriculum) -> PairTables:
    """The pairs with their present efforts, and with the tasks that are tested: those that may be confirmed."""
    effort = np.stack([machines.efforts(task.name) for task in machines.pool.tasks])
    names = unconfirmed_tasks(machines, curriculum)
    is_tested = np.array([task.name in names for task in machines.pool.tasks])
    return pairs._replace(effort=jax.device_put(effort), is_tested=jax.device_put(is_tested))


def interaction_of(suite: TaskSuite, config: LhrmConfig, depth: int) -> Interaction:
    """The agent's part of a step.

    Args:
        suite: The suite, with the shape of observations and the number of actions.
        config: The settings of the agent and of exploration.
        depth: The largest number of running options, which is the height of the highest hierarchy.
    """
    agent = HierarchicalAgent(config.agent, suite.shape, suite.actions, depth, suite.recall)
    kept = SAMPLE_RATE if config.noise else 0.0
    return Interaction(agent, suite.max_steps, True, config.detour_rate, config.tests > 0, kept)


def _trained(tasks: Sequence[TaskSpec], level: int, layout: Layout) -> list[str] | None:
    """The names of the tasks whose formulas learn; None for all.

    As published, those up to the present level, which may have been higher before. Formulas that share a network always
    learn: its body changes with every update, so their heads must follow.
    """
    return None if layout is Layout.SHARED else [task.name for task in tasks if task.level <= level]


def drawing_chances(machines: Machines, curriculum: Curriculum, config: LhrmConfig) -> Float[Array, "T I"]:
    """The sampling weight of each pair of a task and an instance, as an array of the device.

    Once every task was given up, a run is only read, and nothing is sampled.

    Args:
        machines: The machines that were learned, some of which may be suspect.
        curriculum: The tasks in training, and their returns.
        config: All settings.
    """
    drawn = np.zeros_like(curriculum.returns)
    if curriculum.is_active.any():
        drawn = curriculum.chances(tasks_to_check(machines, curriculum, config))
    chances: Float[Array, "T I"] = jax.device_put(np.asarray(drawn, np.float32))
    return chances


def suspects(machines: Machines, curriculum: Curriculum, config: LhrmConfig) -> Bool[Array, " T"]:
    """Whether the machine of each task is suspect, as an array of the device. Arguments as for `drawing_chances`."""
    numbers = suspect_tasks(machines, curriculum, config)
    mask: Bool[Array, " T"] = jax.device_put(np.isin(np.arange(len(machines.pool.tasks)), numbers))
    return mask


# -- beginnings


def first_pool(suite: TaskSuite, bank: Bank | None) -> Pool:
    """The machines at the beginning: none for the tasks, and those of the bank, which any task may call.

    Raises:
        RewardMachineError: A task has the name of a machine of the bank.
    """
    return Pool(suite.tasks, suite.propositions, given=() if bank is None else bank.machines)


def first_curriculum(suite: TaskSuite, config: LhrmConfig) -> Curriculum:
    """The curriculum at the beginning: the first level, and returns of 0."""
    return curriculum(
        [task.level for task in suite.tasks],
        suite.curriculum_instances,
        weight=config.agent.curriculum_weight,
        threshold=config.threshold,
    )


def first_registry(suite: TaskSuite, bank: Bank | None) -> OptionRegistry:
    """The options at the beginning: none, or those of the bank, whose Q-functions keep their numbers."""
    if bank is None:
        return OptionRegistry(room=room_for(suite.tasks, suite.propositions))
    given = tuple(TaskSpec(name, 1) for name in bank.names)
    room, sizes = room_for((*suite.tasks, *given), suite.propositions), bank.sizes
    registry = OptionRegistry(
        room=replace(room, states=max(room.states, sizes.states)),
        option_room=replace(
            OPTION_ROOM, slots=max(OPTION_ROOM.slots, sizes.slots), outputs=max(OPTION_ROOM.outputs, sizes.outputs)
        ),
        contexts=bank.contexts,
        fatal=bank.fatal,
    )
    registry.repeat(bank.changes)
    return registry


def first_state(
    driver: Driver, tables: TaskTables, chance: Chance, key: PRNGKeyArray, config: LhrmConfig, bank: Bank | None
) -> RunState:
    """All arrays at the beginning: the agent is untrained, or has the policies of a bank.

    Args:
        driver: The driver.
        tables: The machines and options, as arrays.
        chance: The random generator of initial weights.
        key: The random key for acting.
        config: The settings.
        bank: The bank, if there is one.
    """
    state = driver.create(tables, chance, key)
    if bank is None:
        return state
    agent = _with_formulas(state.agent, bank, config.agent)
    return state._replace(agent=_with_given_calls(agent, bank, tables, config.agent))


def grown_state(
    driver: Driver, tables: TaskTables, chance: Chance, before: RunState, config: LhrmConfig, bank: Bank | None
) -> RunState:
    """Larger arrays, with new episodes in all environments. Formulas keep Q-functions and replay memories.

    Args:
        driver: The driver.
        tables: The machines and options, as arrays of the larger sizes.
        chance: The random generator of initial weights.
        before: The smaller arrays.
        config: The settings.
        bank: The bank, whose machines keep their policies.
    """
    fresh = driver.create(tables, chance, before.key)
    agent = enlarged(fresh.agent, before.agent)
    if bank is not None:
        agent = _with_given_calls(agent, bank, tables, config.agent)
    return fresh._replace(agent=agent)


def _with_formulas(agent: AgentState, bank: Bank, config: HierarchicalDqnConfig) -> AgentState:
    """An agent with the bank's policies of formulas, in arrays that may be larger. They explore little."""
    fresh, known = agent.formulas, bank.networks.formulas
    online = jax.tree.map(
        lambda new, old: put_into(new, tuple(slice(0, size) for size in old.shape), old), fresh.online, known
    )
    steps = put_into(fresh.steps, sorted(set(bank.formulas.values())), config.exploration.steps)
    target = jax.device_put(online, may_alias=False)
    return agent._replace(formulas=fresh._replace(online=online, target=target, steps=steps))


def _with_given_calls(agent: AgentState, bank: Bank, tables: TaskTables, config: HierarchicalDqnConfig) -> AgentState:
    """An agent whose machines that are given choose as in the bank; they come after those of the tasks."""
    numbers = dict(enumerate(bank.names, start=tables.root.shape[0]))
    return agent._replace(calls=with_calls(agent.calls, bank, numbers, config))


# -- resetting Q-functions


def with_new_formulas(
    agent: AgentState, slots: Sequence[int], config: LhrmConfig, suite: TaskSuite, chance: Chance
) -> AgentState:
    """An agent with new Q-functions for formulas in some slots, which other formulas have taken over.

    Args:
        agent: The agent's state.
        slots: The slots.
        config: The settings.
        suite: The suite, with the shape of observations and the number of actions.
        chance: The random generator of initial weights.
    """
    if not slots:
        return agent
    formulas = formula_q.renewed(config.agent, agent.formulas, slots, suite.shape, suite.actions, chance)
    return agent._replace(formulas=formulas)


def with_new_machines(
    agent: AgentState,
    machines: Sequence[int],
    tables: TaskTables,
    config: LhrmConfig,
    suite: TaskSuite,
    chance: Chance,
) -> AgentState:
    """An agent with new Q-functions for the calls of some machines, and empty replay memories of their calls.

    Args:
        agent: The agent's state.
        machines: The numbers of the machines.
        tables: Their options.
        config: The settings.
        suite: The shape of observations.
        chance: The random generator of initial weights.
    """
    if not machines:
        return agent
    rings, task = agent.call_replay, tables.task
    assert isinstance(task, OptionTask), "machines are learned by an agent with options"
    return agent._replace(
        calls=call_q.renewed(config.agent, agent.calls, task.options, machines, suite.shape, chance),
        call_replay=rings._replace(written=rings.written.at[np.asarray(machines)].set(0)),
    )
