"""Tasks become machines; only tasks that have a name become machines of their own, and using them a call.

Meaning. A step starts on a label and ends on a later one (or the same). `a ; b`: b may start once a has ended. `a & b`:
both, in either order, the one that starts first running to its end. `a | b`: the one that starts first is done, the
other never. When a label could start several sides, `tie` decides, unless they are alternatives that leave the same to
do. On a proposition to be avoided the whole task fails, wherever it stands: what one task avoids, all tasks of the
hierarchy avoid.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate
from typing import Final, Literal

from rewardmachines.core.errors import ContradictionError, RewardMachineError, TooLargeError
from rewardmachines.core.formula import FALSE, Formula, conjunction
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.labelsets import EMPTY, EVERY, LabelSet, LabelSets, in_order_of_mention
from rewardmachines.core.machine import ACCEPTING, INITIAL, LEAF, REJECTING, Edge, RewardMachine, machine
from rewardmachines.core.minimization import Start, guards, minimize
from rewardmachines.core.traversal import exit_condition
from rewardmachines.language.program import Program, events_of
from rewardmachines.language.syntax import AnyOrder, Either, Event, Name, Step, Then

MAX_STATES: Final = 20_000
MAX_EDGES: Final = 20_000
"""The largest number of edges of all machines: 12 steps in any order take 24,576 edges, and a few seconds."""


class Tie(Enum):
    """The rule for a label that could start several sides of `&` or `|`.

    Take `a & b` and the label {a, b}. NEITHER: nothing moves, a label with only one of them must come. LEFT: a is
    done, b is still to do. RIGHT: the other way round. Likewise for `(a ; c) | (b ; d)`: with LEFT, c is still to do.
    In `a | b` and in `(a ; c) | (b ; c)` there is no tie, for what follows is the same.
    """

    NEITHER = "neither"
    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True)
class Ignored:
    """Labels that could start several sides and therefore start none (`Tie.NEITHER`)."""

    task: str
    sides: tuple[str, ...]
    """The sides of `&` or `|`, as they are written."""
    labels: Formula
    """The condition of the labels that change nothing as long as all sides are to be done."""


def compile_task(
    expression: str,
    tasks: Mapping[str, str] | None = None,
    *,
    avoid: Iterable[str] = (),
    propositions: Iterable[str] | None = None,
    tie: Tie | Literal["neither", "left", "right"] = Tie.NEITHER,
    name: str = "task",
    machines: Hierarchy | None = None,
    watch: Callable[[Ignored], None] | None = None,
) -> Hierarchy:
    """The deterministic hierarchy of a task.

    Args:
        expression: The task: steps joined by `;` (in this order), `&` (in any order) and `|` (one of them).
            An expression that is just the name of a task is that task.
        tasks: Names for expressions; each becomes a machine. A name that is not among them is a proposition.
        avoid: Propositions that must not be seen.
        propositions: The known propositions; others are then errors.
        tie: The rule for a label that would start both sides.
        name: The name of the root.
        machines: Machines that there are already, such as learned ones. They are used by name, like tasks, and are in
            the hierarchy as they are. What is to be avoided does not change them.
        watch: Called for each `&` and `|` with the labels that are ignored because of a tie, if there are any.

    Raises:
        RewardMachineError: The expression makes no sense, or the hierarchy would be too large.

    >>> book = compile_task(
    ...     "(paper & leather) ; table",
    ...     {"paper": "sugarcane ; workbench", "leather": "rabbit ; workbench"},
    ...     name="book",
    ... )
    >>> [machine.name for machine in book], book.height
    (['book', 'leather', 'paper'], 2)
    """
    program = Program(expression, tasks or {}, tuple(avoid), propositions, name, machines)
    compiler = _Compiler(program, tie_of(tie), finds_ignored=watch is not None)
    compiled = compiler.hierarchy()
    for ignored in compiler.ignored.values():
        assert watch is not None
        watch(ignored)
    return compiled


def tie_of(tie: Tie | str) -> Tie:
    """The tie rule of that name."""
    try:
        return Tie(tie)
    except ValueError:
        choices = ", ".join(repr(t.value) for t in Tie)
        raise RewardMachineError(f"tie is one of {choices}, not {tie!r}") from None


class _Compiler:
    """Turns tasks into machines, callees first, then has them tidied up."""

    def __init__(self, program: Program, tie: Tie, *, finds_ignored: bool) -> None:
        self.program = program
        self.tie = tie
        self.finds_ignored = finds_ignored
        self.ignored: dict[tuple[str, tuple[str, ...]], Ignored] = {}
        """The sides that ties leave without effect, by task."""
        events = [formula for task in program.tasks.values() for formula in events_of(task.body)]
        self.sets = LabelSets([*in_order_of_mention(events), *program.propositions])
        self.avoided: Formula = FALSE
        for proposition in program.avoid:
            self.avoided = self.avoided | conjunction({proposition})
        self.safe = self.sets.complement(self.sets.of(self.avoided))
        self.edges = 0
        """The number of edges so far, for all machines together."""
        self.starts: dict[str, LabelSet] = {}
        """The labels on which each task starts, without those to be avoided."""
        for name in program.given:
            self.starts[name] = self.sets.both(self.sets.of(self._exit_condition(name)), self.safe)

    def _exit_condition(self, name: str) -> Formula:
        """The condition under which a given machine leaves its initial state."""
        whole = Hierarchy(name, tuple(self.program.given.values()), self.program.propositions)
        return exit_condition(whole, name, whole[name].initial)

    def hierarchy(self) -> Hierarchy:
        given = self.program.given
        machines: dict[str, RewardMachine] = dict(given)
        waiting = [] if self.program.root in given else [self.program.root]
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
        smallest = ordered if raw.root in given else minimize(ordered, merge_machines=False)
        return Hierarchy(raw.root, tuple(given.get(each.name, each) for each in smallest), raw.propositions)


class _MachineBuilder:
    """One task as a machine. States are added from the end of the task to its beginning."""

    def __init__(self, compiler: _Compiler, name: str) -> None:
        self._compiler = compiler
        self._sets = compiler.sets
        self._name = name
        self._task = compiler.program.tasks[name]
        self._edges: list[Edge] = []
        self._states: dict[frozenset[Start], str] = {}
        """States by their ways out: where the same is to be done, the machine is in the same state."""

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
                untied = self._untied(sides, [_text(side) for side in steps], are_alternatives=True)
                self._note_ignored(sides, untied, steps)
                return untied
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
        if (edges := len(steps) * 2 ** (len(steps) - 1)) > MAX_EDGES:
            raise TooLargeError(
                f"task '{self._name}': {len(steps)} steps in any order would need 2^{len(steps)} states and {edges:,} "
                f"edges: more than {MAX_EDGES:,} edges are not built; have fewer steps in any order"
            )
        everything = frozenset(range(len(steps)))
        states: dict[frozenset[int], str] = {frozenset(): end}

        def starts(rest: frozenset[int]) -> list[Start]:
            ordered = sorted(rest)
            sides = [self._starts(steps[i], state(rest - {i})) for i in ordered]
            untied = self._untied(sides, [_text(steps[i]) for i in ordered], are_alternatives=False)
            if rest == everything:  # what is ignored while fewer steps are left is among it
                self._note_ignored(sides, untied, steps)
            return untied

        def state(rest: frozenset[int]) -> str:
            if rest not in states:
                states[rest] = self._new_state(starts(rest))
            return states[rest]

        return starts(everything)

    def _untied(self, sides: list[list[Start]], texts: list[str], *, are_alternatives: bool) -> list[Start]:
        """The sides' starts, without the labels that start several of them and are not theirs by the tie rule.

        Args:
            sides: The starts of each side.
            texts: The sides as they are written.
            are_alternatives: Whether one side is enough. Then a label with which several lead to the same state,
                without a call, is no tie.
        """
        labels = [self._labels(side) for side in sides]
        direct = [self._direct(side) if are_alternatives else {} for side in sides]
        for i, own in enumerate(labels):
            j = labels.index(own)
            if j < i and not self._agree(direct[i], direct[j]):
                raise ContradictionError(
                    f"task '{self._name}': '{texts[j]}' and '{texts[i]}' can only ever start together, so no label can "
                    "say which one comes first; write 'a ; b' if one of them does"
                )
        any_other, differing = self._left_to_others(labels), self._left_to_differing(labels, direct)

        def kept(start: Start, side: int) -> Start:
            others = differing.get(start.target, any_other) if start.callee == LEAF else any_other
            return Start(self._sets.minus(start.labels, others[side]), start.callee, start.target)

        untied: list[Start] = []
        for i, (side, text) in enumerate(zip(sides, texts, strict=True)):
            own_starts = [start for start in (kept(start, i) for start in side) if start.labels != EMPTY]
            if are_alternatives and not own_starts:
                raise ContradictionError(
                    f"task '{self._name}': '{text}' can never be the side that starts, for every label that starts "
                    f"it starts another side too (tie: {self._compiler.tie.value})"
                )
            untied += own_starts
        if not untied:
            raise ContradictionError(f"task '{self._name}': none of {', '.join(map(repr, texts))} can ever start alone")
        joined = [Start(labels, LEAF, target) for target, labels in self._direct(untied).items()]
        return [start for start in untied if start.callee != LEAF] + joined

    def _direct(self, starts: list[Start]) -> dict[str, LabelSet]:
        """The labels that lead to each state without a call."""
        labels: dict[str, LabelSet] = {}
        for start in starts:
            if start.callee == LEAF:
                labels[start.target] = self._sets.either(labels.get(start.target, EMPTY), start.labels)
        return labels

    def _agree(self, a: dict[str, LabelSet], b: dict[str, LabelSet]) -> bool:
        """Whether there is a label with which two sides lead to the same state."""
        return any(self._sets.both(labels, b[target]) != EMPTY for target, labels in a.items() if target in b)

    def _left_to_differing(
        self, labels: list[LabelSet], direct: list[dict[str, LabelSet]]
    ) -> dict[str, list[LabelSet]]:
        """For each state to which several sides lead, and each side, the labels that it leaves to sides that differ.

        Args:
            labels: The labels that start each side.
            direct: The labels with which each side leads to a state, by the state.
        """
        counts = Counter(target for own in direct for target in own)
        return {
            target: self._left_to_others(
                [self._sets.minus(own, to.get(target, EMPTY)) for own, to in zip(labels, direct, strict=True)]
            )
            for target, count in counts.items()
            if count > 1
        }

    def _note_ignored(self, sides: list[list[Start]], untied: list[Start], steps: tuple[Step, ...]) -> None:
        """Notes the labels that start several sides and are given to none of them."""
        if not self._compiler.finds_ignored:
            return
        asked = self._labels(start for side in sides for start in side)
        if (ignored := self._sets.minus(asked, self._labels(untied))) == EMPTY:
            return
        texts = tuple(map(_text, steps))
        upper = self._sets.either(ignored, self._sets.complement(self._compiler.safe))
        found = Ignored(self._name, texts, self._sets.cover(ignored, upper))
        self._compiler.ignored.setdefault((self._name, texts), found)

    def _left_to_others(self, labels: list[LabelSet]) -> list[LabelSet]:
        """For each side, the labels that it leaves to others."""
        before = list(accumulate(labels[:-1], self._sets.either, initial=EMPTY))
        after = list(accumulate(labels[:0:-1], self._sets.either, initial=EMPTY))[::-1]
        match self._compiler.tie:
            case Tie.NEITHER:
                return [self._sets.either(*both) for both in zip(before, after, strict=True)]
            case Tie.LEFT:
                return before
            case Tie.RIGHT:
                return after

    def _new_state(self, starts: list[Start]) -> str:
        ways = frozenset(starts)
        if ways in self._states:
            return self._states[ways]
        if len(self._states) == MAX_STATES:
            raise TooLargeError(f"task '{self._name}' would need more than {MAX_STATES:,} states: name parts of it")
        state = self._states[ways] = f"u{len(self._states) + 1}"
        self._attach(state, starts)
        return state

    def _attach(self, state: str, starts: list[Start]) -> None:
        avoid = [] if self._compiler.avoided.is_false else [self._compiler.avoided]
        self._compiler.edges += len(starts) + len(avoid)
        if self._compiler.edges > MAX_EDGES:
            raise TooLargeError(
                f"with task '{self._name}', the machines would have more than {MAX_EDGES:,} edges: have fewer "
                "steps in any order"
            )
        callee_starts = {LEAF: EVERY} | self._compiler.starts
        formulas = guards(self._sets, self._compiler.safe, starts, callee_starts)
        for start, formula in zip(starts, formulas, strict=True):
            self._edges.append(Edge(state, start.target, self._without_avoided(formula), start.callee))
        self._edges += [Edge(state, REJECTING, formula) for formula in avoid]

    def _without_avoided(self, formula: Formula) -> Formula:
        """The formula where it matters: on avoided labels, where `guards` is free to choose, the task has failed."""
        if self._compiler.avoided.is_false:
            return formula
        return self._sets.cover(self._sets.both(self._sets.of(formula), self._compiler.safe))


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
