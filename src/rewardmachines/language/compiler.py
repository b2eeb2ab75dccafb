"""Tasks become machines; only tasks that have a name become machines of their own, and using them a call.

Meaning. A step starts on a label and ends on a later one (or the same). `a ; b`: b may start once a has ended. `a & b`:
both, in either order, the one that starts first running to its end. `a | b`: the one that starts first is done, the
other never. When a label could start several sides, `tie` decides. On a proposition to be avoided the whole task fails,
wherever it stands: what one task avoids, all tasks of the hierarchy avoid.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final, Literal

from rewardmachines.core.errors import (
    CircularCallError,
    ContradictionError,
    RewardMachineError,
    TooLargeError,
    UnknownPropositionError,
)
from rewardmachines.core.formula import FALSE, Formula, conjunction
from rewardmachines.core.hierarchy import Hierarchy, suggestion
from rewardmachines.core.labelsets import EMPTY, EVERY, LabelSet, LabelSets, in_order_of_mention
from rewardmachines.core.machine import ACCEPTING, INITIAL, LEAF, REJECTING, Edge, RewardMachine, machine
from rewardmachines.core.minimization import Start, guards, minimize
from rewardmachines.language.syntax import AnyOrder, Either, Event, Name, Step, Task, Then, parse_task

MAX_STATES: Final = 20_000
MAX_NAMED: Final = 150


class Tie(Enum):
    """What happens on a label that could start several sides of `&` or `|`.

    Take `a & b` and the label {a, b}. NEITHER: nothing moves, a label with only one of them must come. LEFT: a is
    done, b is still to do. RIGHT: the other way round.
    """

    NEITHER = "neither"
    LEFT = "left"
    RIGHT = "right"


def compile_task(
    expression: str,
    tasks: Mapping[str, str] | None = None,
    *,
    avoid: Iterable[str] = (),
    propositions: Iterable[str] | None = None,
    tie: Tie | Literal["neither", "left", "right"] = Tie.NEITHER,
    name: str = "task",
) -> Hierarchy:
    """The deterministic hierarchy of a task.

    `tasks` maps names to expressions; a name that is not among them is a proposition. With `propositions`, other
    propositions are errors. `name` is what the root is called; an expression that is just the name of a task is that
    task.

    >>> book = compile_task(
    ...     "(paper & leather) ; table",
    ...     {"paper": "sugarcane ; workbench", "leather": "rabbit ; workbench"},
    ...     name="book",
    ... )
    >>> [machine.name for machine in book], book.height
    (['book', 'leather', 'paper'], 2)
    """
    program = _Program(expression, tasks or {}, tuple(avoid), propositions, name)
    return _Compiler(program, tie_of(tie)).hierarchy()


def tie_of(tie: Tie | str) -> Tie:
    """The tie rule of that name."""
    try:
        return Tie(tie)
    except ValueError:
        choices = ", ".join(repr(t.value) for t in Tie)
        raise RewardMachineError(f"tie is one of {choices}, not {tie!r}") from None


class _Program:
    """The tasks that are used, parsed and with all names resolved."""

    def __init__(
        self,
        expression: str,
        tasks: Mapping[str, str],
        avoid: tuple[str, ...],
        propositions: Iterable[str] | None,
        name: str,
    ) -> None:
        self._texts = tasks
        self._declared = None if propositions is None else tuple(propositions)
        if both := sorted(set(self._declared or ()) & set(tasks)):
            raise RewardMachineError(f"'{both[0]}' is both a proposition and a task: rename one")
        self.tasks: dict[str, Task] = {}
        self.root = self._add_root(expression, name)
        self.avoid = tuple(dict.fromkeys([*avoid, *(n.name for task in self.tasks.values() for n in task.avoid)]))
        self.propositions = self._all_propositions(avoid)

    def _add_root(self, expression: str, name: str) -> str:
        root = parse_task(expression)
        if isinstance(root.body, Name) and not root.avoid and root.body.name in self._texts:
            self._add(root.body.name, ())
            return root.body.name
        if name in self._texts:
            raise RewardMachineError(f"the root cannot be called '{name}': a task has that name; pass another name")
        self.tasks[name] = root
        for used in self.used(root):
            self._add(used, (name,))
        return name

    def _add(self, name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise CircularCallError(
                f"tasks use each other in a circle: {' -> '.join([*path[path.index(name) :], name])}"
            )
        if name in self.tasks:
            return
        if len(path) > MAX_NAMED:
            raise TooLargeError(f"tasks use each other more than {MAX_NAMED} deep")
        task = parse_task(self._texts[name], f"task '{name}'")
        for used in self.used(task):
            self._add(used, (*path, name))
        self.tasks[name] = task

    def used(self, task: Task) -> list[str]:
        return [n.name for n in _names(task.body) if n.name in self._texts]

    def is_task(self, name: str) -> bool:
        return name in self._texts

    def _all_propositions(self, avoid: tuple[str, ...]) -> tuple[str, ...]:
        used: dict[str, str] = {}
        for name, task in self.tasks.items():
            for mentioned in _mentioned(task):
                if not self.is_task(mentioned):
                    used.setdefault(mentioned, name)
        used |= {p: self.root for p in avoid if p not in used}
        if wrong := [p for p in self.avoid if self.is_task(p)]:
            raise RewardMachineError(f"'{wrong[0]}' is a task: only propositions can be avoided")
        if self._declared is None:
            return tuple(sorted(used))
        for proposition, name in used.items():
            if proposition not in self._declared:
                hint = suggestion(proposition, [*self._declared, *self._texts])
                raise UnknownPropositionError(
                    f"task '{name}': '{proposition}' is neither a declared proposition nor a task{hint}"
                )
        return self._declared


def _names(step: Step) -> list[Name]:
    match step:
        case Name():
            return [step]
        case Event():
            return []
        case Then(steps) | AnyOrder(steps) | Either(steps):
            return [name for inner in steps for name in _names(inner)]


def _mentioned(task: Task) -> list[str]:
    in_events = frozenset().union(*(formula.propositions for formula in _events(task.body)))
    return [n.name for n in (*_names(task.body), *task.avoid)] + sorted(in_events)


def _events(step: Step) -> list[Formula]:
    match step:
        case Name():
            return []
        case Event(formula):
            return [formula]
        case Then(steps) | AnyOrder(steps) | Either(steps):
            return [formula for inner in steps for formula in _events(inner)]


class _Compiler:
    """Turns tasks into machines, callees first, then has them tidied up."""

    def __init__(self, program: _Program, tie: Tie) -> None:
        self.program = program
        self.tie = tie
        events = [formula for task in program.tasks.values() for formula in _events(task.body)]
        self.sets = LabelSets([*in_order_of_mention(events), *program.propositions])
        self.avoided: Formula = FALSE
        for proposition in program.avoid:
            self.avoided = self.avoided | conjunction({proposition})
        self.safe = self.sets.complement(self.sets.of(self.avoided))
        self.starts: dict[str, LabelSet] = {}
        """On which labels each task starts, avoided ones apart."""

    def hierarchy(self) -> Hierarchy:
        machines: dict[str, RewardMachine] = {}
        waiting = [self.program.root]
        while waiting:
            name = waiting[-1]
            missing = [used for used in self.program.used(self.program.tasks[name]) if used not in machines]
            if missing:
                waiting.extend(missing)
                continue
            waiting.pop()
            if name not in machines:
                machines[name] = _MachineBuilder(self, name).machine()
        raw = Hierarchy(self.program.root, tuple(machines.values()), self.program.propositions)
        ordered = Hierarchy(raw.root, raw.reachable(), raw.propositions)
        return minimize(ordered, merge_machines=False)


class _MachineBuilder:
    """One task as a machine. States are added from the end of the task to its beginning."""

    def __init__(self, compiler: _Compiler, name: str) -> None:
        self._compiler = compiler
        self._sets = compiler.sets
        self._name = name
        self._task = compiler.program.tasks[name]
        self._edges: list[Edge] = []
        self._states = 0

    def machine(self) -> RewardMachine:
        starts = self._starts(self._task.body, ACCEPTING)
        self._attach(INITIAL, starts)
        self._compiler.starts[self._name] = self._labels(starts)
        return machine(self._name, self._edges)

    def _labels(self, starts: Iterable[Start]) -> LabelSet:
        labels = EMPTY
        for start in starts:
            labels = self._sets.either(labels, start.labels)
        return labels

    def _starts(self, step: Step, end: str) -> list[Start]:
        """The ways in which the step can start; when it is done, the machine is in state `end`."""
        match step:
            case Name(name):
                if self._compiler.program.is_task(name):
                    return [Start(self._compiler.starts[name], name, end)]
                return [self._event(conjunction({name}), end)]
            case Event(formula):
                return [self._event(formula, end)]
            case Then(steps):
                for later in reversed(steps[1:]):
                    end = self._new_state(self._starts(later, end))
                return self._starts(steps[0], end)
            case Either(steps):
                sides = [self._starts(side, end) for side in steps]
                return self._untied(sides, [_text(side) for side in steps], all_must_start=True)
            case AnyOrder(steps):
                return self._in_any_order(steps, end)

    def _event(self, formula: Formula, end: str) -> Start:
        labels = self._sets.both(self._sets.of(formula), self._compiler.safe)
        if labels == EMPTY:
            reason = "no label satisfies it" if formula.is_false else "it is to be avoided"
            raise ContradictionError(f"task '{self._name}': the step '{formula}' can never happen, {reason}")
        return Start(labels, LEAF, end)

    def _in_any_order(self, steps: tuple[Step, ...], end: str) -> list[Start]:
        """A state for each set of steps that is still to do; the whole set begins where the caller stands."""
        if 2 ** len(steps) > MAX_STATES:
            raise TooLargeError(
                f"task '{self._name}': {len(steps)} steps in any order would need 2^{len(steps)} states"
            )
        everything = frozenset(range(len(steps)))
        states: dict[frozenset[int], str] = {frozenset(): end}

        def starts(rest: frozenset[int]) -> list[Start]:
            ordered = sorted(rest)
            sides = [self._starts(steps[i], state(rest - {i})) for i in ordered]
            return self._untied(sides, [_text(steps[i]) for i in ordered], all_must_start=False)

        def state(rest: frozenset[int]) -> str:
            if rest not in states:
                states[rest] = self._new_state(starts(rest))
            return states[rest]

        return starts(everything)

    def _untied(self, sides: list[list[Start]], texts: list[str], *, all_must_start: bool) -> list[Start]:
        """The sides' starts, without the labels that start several of them and are not theirs by the tie rule."""
        labels = [self._labels(side) for side in sides]
        for i, own in enumerate(labels):
            if own in labels[:i]:
                first, second = texts[labels.index(own)], texts[i]
                raise ContradictionError(
                    f"task '{self._name}': '{first}' and '{second}' can only ever start together, so no label can say "
                    "which one comes first; write 'a ; b' if one of them does"
                )
        untied: list[Start] = []
        for i, side in enumerate(sides):
            others = self._others(labels, i)
            kept = [Start(self._sets.minus(s.labels, others), s.callee, s.target) for s in side]
            kept = [s for s in kept if s.labels != EMPTY]
            if all_must_start and not kept:
                raise ContradictionError(
                    f"task '{self._name}': '{texts[i]}' can never be the side that starts, for every label that starts "
                    f"it starts another side too (tie: {self._compiler.tie.value})"
                )
            untied += kept
        if not untied:
            raise ContradictionError(f"task '{self._name}': none of {', '.join(map(repr, texts))} can ever start alone")
        return untied

    def _others(self, labels: list[LabelSet], i: int) -> LabelSet:
        """The labels that side `i` leaves to others."""
        match self._compiler.tie:
            case Tie.NEITHER:
                others = labels[:i] + labels[i + 1 :]
            case Tie.LEFT:
                others = labels[:i]
            case Tie.RIGHT:
                others = labels[i + 1 :]
        found = EMPTY
        for other in others:
            found = self._sets.either(found, other)
        return found

    def _new_state(self, starts: list[Start]) -> str:
        self._states += 1
        if self._states > MAX_STATES:
            raise TooLargeError(f"task '{self._name}' would need more than {MAX_STATES:,} states: name parts of it")
        state = f"u{self._states}"
        self._attach(state, starts)
        return state

    def _attach(self, state: str, starts: list[Start]) -> None:
        avoid = [] if self._compiler.avoided.is_false else [self._compiler.avoided]
        callee_starts = {LEAF: EVERY} | self._compiler.starts
        formulas = guards(self._sets, self._compiler.safe, starts, callee_starts)
        for start, formula in zip(starts, formulas, strict=True):
            # On avoided labels `guards` was free to choose: the task has failed there already.
            safe = self._sets.cover(self._sets.both(self._sets.of(formula), self._compiler.safe))
            self._edges.append(Edge(state, start.target, safe, start.callee))
        self._edges += [Edge(state, REJECTING, formula) for formula in avoid]


def _text(step: Step) -> str:
    """The step as one would write it."""
    match step:
        case Name(name):
            return name
        case Event(formula):
            return f"[{formula}]"
        case Then(steps):
            return f"({' ; '.join(map(_text, steps))})"
        case Either(steps):
            return f"({' | '.join(map(_text, steps))})"
        case AnyOrder(steps):
            return f"({' & '.join(map(_text, steps))})"
