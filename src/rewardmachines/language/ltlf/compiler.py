"""LTLf formulas and regular expressions become machines, which call others where a name is a task."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from rewardmachines.core.errors import (
    ContradictionError,
    RewardMachineError,
    TooLargeError,
    UnknownPropositionError,
)
from rewardmachines.core.formula import Label, conjunction
from rewardmachines.core.hierarchy import Hierarchy, suggestion
from rewardmachines.core.labelsets import EMPTY, EVERY, LabelSet, LabelSets
from rewardmachines.core.machine import ACCEPTING, INITIAL, LEAF, REJECTING, Edge, RewardMachine
from rewardmachines.core.minimization import Start, guards, minimize
from rewardmachines.core.traversal import exit_condition, show_label
from rewardmachines.language.compiler import Tie, compile_task, tie_of
from rewardmachines.language.ltlf.definition import ambiguous_next, satisfies
from rewardmachines.language.ltlf.diagrams import Allowance, Automaton, Limits, long_computation
from rewardmachines.language.ltlf.regex import parse_regex, regex_automaton
from rewardmachines.language.ltlf.syntax import Next, next_of, parse_ltlf
from rewardmachines.language.ltlf.translation import ltlf_automaton
from rewardmachines.language.ltlf.verdicts import (
    ACCEPTED,
    END_LEVEL,
    REJECTED,
    Accept,
    leaf_on,
    over_letters,
    task_level,
    verdicts,
    verdicts_at_end,
)

Tasks: TypeAlias = Mapping[str, Hierarchy | str]
"""The machines of names, or their expressions in the task language."""


@dataclass(frozen=True)
class CountsSteps:
    """A machine for which a label that is repeated is not the same as the label once."""

    formula: str
    label: Label
    """Such a label."""

    def __str__(self) -> str:
        return (
            f"it counts steps: {show_label(self.label)} twice in a row is not the same as once, and where labels are "
            "events, a label comes again only after another one; X means the next change"
        )


def compile_ltlf(
    formula: str,
    tasks: Tasks | None = None,
    *,
    accept: Accept | Literal["first", "decided"] = Accept.FIRST,
    end: str | None = None,
    next: Next | Literal["strong", "weak"] | None = None,  # noqa: A002
    propositions: Iterable[str] | None = None,
    tie: Tie | Literal["neither", "left", "right"] = Tie.NEITHER,
    name: str = "task",
    limits: Limits | None = None,
    watch: Callable[[CountsSteps], None] | None = None,
) -> Hierarchy:
    """The smallest machine for a formula of linear temporal logic on finite traces (LTLf).

    It rejects as soon as no continuation of the trace satisfies the formula.

    Args:
        formula: The formula, of propositions, `true`, `false` and `last`, with `!`, `&`, `|`, `->`, `<->`, the future
            operators `X[!]`, `WX`, `X`, `F`, `G`, `U`, `R`, `W` and `M`, and the past operators `Y`, `O`, `H` and `S`.
        tasks: Names that are tasks: their machines, or expressions in the task language. The machine calls them, and
            the label of such a call is the name of the task alone.
        accept: The moment at which the machine accepts: as soon as the trace so far satisfies the formula ("first"),
            or every continuation of it ("decided").
        end: A proposition on which the formula is judged, for the trace before it.
        next: The reading of a bare `X` at the last position: "strong" (false there) or "weak" (true).
        propositions: The known propositions; others are then errors.
        tie: The rule for a label that starts several tasks, or a task while it is a move itself. "left": the move
            of the formula goes first, then tasks in the order of mention. Labels that make the formula false always go
            first.
        name: The name of the machine.
        limits: The largest machine that is built, and the largest work on the way.
        watch: Called if the machine counts steps.

    Raises:
        SyntaxProblem: The text is no formula.
        TooLargeError: A limit is passed.
        ContradictionError: No trace satisfies the formula.
        RewardMachineError: The formula asks for nothing, or a reading of `X` must be chosen.

    >>> machine = compile_ltlf("F(key & F door) & G !lava")["task"]
    >>> [str(edge) for edge in machine.outgoing("u1")]
    ['u1 --[door & !lava]--> uA', 'u1 --[lava]--> uR']
    """
    reading = next_of(next)
    parsed = parse_ltlf(formula)
    compiler = _Compiler(parsed.text, parsed.names, tasks or {}, accept, end, propositions, tie, name, limits)

    def verdicts_of(reading: Next) -> tuple[Automaton, bool]:
        automaton = ltlf_automaton(parsed, compiler.atoms, reading, compiler.budget)
        return compiler.verdicts(automaton, accepts_empty=satisfies(parsed, (), reading))

    with long_computation():
        found = verdicts_of(reading or Next.WEAK)
        if reading is None and parsed.has_bare_next and verdicts_of(Next.STRONG) != found:
            raise ambiguous_next()
        return compiler.hierarchy(*found, watch)


def compile_regex(
    expression: str,
    tasks: Tasks | None = None,
    *,
    accept: Accept | Literal["first", "decided"] = Accept.FIRST,
    end: str | None = None,
    propositions: Iterable[str] | None = None,
    tie: Tie | Literal["neither", "left", "right"] = Tie.NEITHER,
    name: str = "task",
    limits: Limits | None = None,
    watch: Callable[[CountsSteps], None] | None = None,
) -> Hierarchy:
    """The smallest machine for a regular expression over labels; the arguments are those of `compile_ltlf`.

    Args:
        expression: Letters, one after the other with `;`, one of several with `|`, repeated with `*`, `+`, `?`, `{2}`,
            `{2,}` or `{2,5}`. A letter is a name (a label with that proposition), a formula in brackets, as in
            `[a & !b]`, or `.` (any label).
        tasks: Names that are tasks.
        accept: The moment at which the machine accepts.
        end: A proposition on which the trace before it is judged.
        propositions: The known propositions.
        tie: The rule for a label that starts several tasks.
        name: The name of the machine.
        limits: The largest machine that is built, and the largest work on the way.
        watch: Called if the machine counts steps.

    >>> [str(edge) for edge in compile_regex("key ; .* ; door")["task"].edges]
    ['u0 --[!key]--> uR', 'u0 --[key]--> u1', 'u1 --[door]--> uA']
    """
    parsed = parse_regex(expression)
    compiler = _Compiler(parsed.text, parsed.names, tasks or {}, accept, end, propositions, tie, name, limits)
    with long_computation():
        automaton = regex_automaton(parsed, compiler.atoms, compiler.budget)
        return compiler.hierarchy(*compiler.verdicts(automaton, accepts_empty=parsed.accepts_empty), watch)


class _Compiler:
    """The tasks, propositions and choices around one automaton."""

    def __init__(
        self,
        text: str,
        names: tuple[str, ...],
        tasks: Tasks,
        accept: Accept | str,
        end: str | None,
        propositions: Iterable[str] | None,
        tie: Tie | str,
        name: str,
        limits: Limits | None,
    ) -> None:
        self._text = text
        self._accept = _accept_of(accept)
        self.end = end
        self.tie = tie_of(tie)
        self.name = name
        self.limits = limits or Limits()
        self.budget = Allowance(self.limits)
        self._tasks = [n for n in names if n in tasks]
        self.callees = {n: _callee(n, tasks) for n in self._tasks}
        """The machines of the tasks that are mentioned."""
        self._machines = _together(self.callees)
        if name in self._machines:
            raise RewardMachineError(f"the machine cannot be called '{name}': a task has that name; pass another name")
        plain = [n for n in names if n not in tasks]
        self._propositions = self._all_propositions(plain, tasks, propositions)
        self.atoms = {n: level for level, n in enumerate(names)}
        """The levels of the names."""

    def _all_propositions(self, plain: list[str], tasks: Tasks, propositions: Iterable[str] | None) -> tuple[str, ...]:
        used = dict.fromkeys([*plain, *([self.end] if self.end is not None else [])])
        if self.end is not None and self.end in tasks:
            raise RewardMachineError(f"the end '{self.end}' is a task: only a proposition can be the end")
        if propositions is None:
            return tuple(sorted({*used, *(p for machine in self._machines.values() for p in machine.propositions)}))
        declared = tuple(propositions)
        if both := sorted({*declared} & {*tasks}):
            raise RewardMachineError(f"'{both[0]}' is both a proposition and a task: rename one")
        for proposition in used:
            if proposition not in declared:
                hint = suggestion(proposition, [*declared, *tasks])
                raise UnknownPropositionError(
                    f"task '{self.name}': '{proposition}' is neither a declared proposition nor a task{hint}"
                )
        return declared

    def verdicts(self, automaton: Automaton, *, accepts_empty: bool) -> tuple[Automaton, bool]:
        """The automaton of the verdicts of a language, and whether the language asks for anything."""
        absent = [self.atoms[self.end]] if self.end in self.atoms else []
        automaton = over_letters(automaton, [self.atoms[n] for n in self._tasks], absent, self.budget)
        if self.end is not None:
            found = verdicts_at_end(automaton, accepts_empty=accepts_empty, budget=self.budget)
        else:
            accepts_empty = accepts_empty or bool(~leaf_on(automaton, automaton.roots[automaton.initial], None) & 1)
            found = verdicts(automaton, self._accept, self.budget)
        asks = self.end is not None or (
            not accepts_empty if self._accept is Accept.FIRST else found.initial != ACCEPTED
        )
        return found, asks

    def hierarchy(self, automaton: Automaton, asks: bool, watch: Callable[[CountsSteps], None] | None) -> Hierarchy:
        """The machine of a verdict automaton, with those that it calls."""
        if automaton.initial == REJECTED:
            raise ContradictionError(f"task '{self.name}': no trace satisfies '{_shown(self._text)}'")
        if not asks:
            raise RewardMachineError(
                f"task '{self.name}': '{_shown(self._text)}' forbids, but asks for nothing: the empty trace or one "
                "empty label satisfies it; say what is to be reached, as in 'F goal & G !lava', or name a proposition "
                "on which it is judged (end)"
            )
        try:
            sets = LabelSets(sorted({*self._propositions}))
            built, counted = _MachineBuilder(self, automaton, sets).machine()
        except TooLargeError:
            self.budget.check()
            sets = LabelSets([*self.atoms, *sorted({*self._propositions} - {*self.atoms})])
            built, counted = _MachineBuilder(self, automaton, sets).machine()
        if counted is not None and watch is not None:
            watch(CountsSteps(self._text, counted))
        raw = Hierarchy(self.name, (built, *self._machines.values()), self._propositions)
        if not self._tasks:
            return raw
        smallest = minimize(raw, merge_machines=False)
        machines = tuple(self._machines.get(machine.name, machine) for machine in smallest)
        return Hierarchy(raw.root, machines, raw.propositions)


class _MachineBuilder:
    """The machine of a verdict automaton; states are numbered breadth first, as `minimize` does."""

    def __init__(self, compiler: _Compiler, automaton: Automaton, sets: LabelSets) -> None:
        self._compiler = compiler
        self._automaton = automaton
        self._sets = sets
        names = {level: n for n, level in compiler.atoms.items()}
        self._literals = {level: sets.of(conjunction({n})) for level, n in names.items() if n not in compiler.callees}
        if compiler.end is not None:
            self._literals[END_LEVEL] = sets.of(conjunction({compiler.end}))
        self._starts = {LEAF: EVERY} | {
            h.root: sets.of(exit_condition(h, h.root, h[h.root].initial)) for h in compiler.callees.values()
        }
        self._known: dict[int, dict[int, LabelSet]] = {}

    def machine(self) -> tuple[RewardMachine, Label | None]:
        """The machine, and a label that counts when it is repeated."""
        automaton, limits = self._automaton, self._compiler.limits
        names = {automaton.initial: INITIAL}
        inner = [INITIAL]
        edges: list[Edge] = []
        queue = deque([automaton.initial])
        ways: dict[int, list[tuple[LabelSet, str, int]]] = {}
        while queue:
            here = queue.popleft()
            self._compiler.budget.check()
            ways[here] = self._ways(here)
            starts = []
            for labels, callee, target in ways[here]:
                if target not in names:
                    if target in (REJECTED, ACCEPTED):
                        names[target] = ACCEPTING if target == ACCEPTED else REJECTING
                    else:
                        names[target] = f"u{len(inner)}"
                        inner.append(names[target])
                        queue.append(target)
                starts.append(Start(labels, callee, names[target]))
            formulas = guards(self._sets, EVERY, starts, self._starts)
            edges += [Edge(names[here], s.target, f, s.callee) for s, f in zip(starts, formulas, strict=True)]
            if len(edges) > limits.edges:
                raise TooLargeError(f"task '{self._compiler.name}': more than {limits.edges:,} edges: split it up")
        rejecting = [REJECTING] if REJECTED in names else []
        built = RewardMachine(
            name=self._compiler.name,
            states=(*inner, ACCEPTING, *rejecting),
            edges=tuple(edges),
            rejecting=frozenset(rejecting),
        )
        return built, self._counted(ways)

    def _ways(self, state: int) -> list[tuple[LabelSet, str, int]]:
        """The labels on which the state is left, the callee and the target, in an order of labels alone."""
        root = self._automaton.roots[state]
        plain = {target: labels for target, labels in self._targets(root).items() if target != state}
        sides = [(labels, LEAF, target) for target, labels in plain.items()]
        if self._compiler.callees:
            sides = self._untied(sides, state, root)
        return sorted(sides, key=lambda side: str(self._sets.cover(side[0])))

    def _targets(self, x: int) -> dict[int, LabelSet]:
        """The labels without tasks that lead to each state."""
        if x < 0:
            return {~x >> 1: EVERY}
        found = self._known.get(x)
        if found is None:
            automaton, sets = self._automaton, self._sets
            low = self._targets(automaton.lows[x])
            literal = self._literals.get(automaton.levels[x])
            if literal is None:  # a task
                found = low
            else:
                high = self._targets(automaton.highs[x])
                found = {target: sets.minus(labels, literal) for target, labels in low.items()}
                for target, labels in high.items():
                    found[target] = sets.either(found.get(target, EMPTY), sets.both(labels, literal))
            self._known[x] = found
        return found

    def _untied(self, plain: list[tuple[LabelSet, str, int]], state: int, root: int) -> list[tuple[LabelSet, str, int]]:
        """The moves and the calls of a state, without the labels that another one takes by the tie rule."""
        sets, compiler = self._sets, self._compiler
        failing = [side for side in plain if side[2] == REJECTED]
        blocked = failing[0][0] if failing else EMPTY
        moves = [side for side in plain if side[2] != REJECTED]
        moved = EMPTY
        for labels, _, _ in moves:
            moved = sets.either(moved, labels)
        calls: list[tuple[LabelSet, str, int]] = []
        for number, (task, callee) in enumerate(compiler.callees.items()):
            target = ~leaf_on(self._automaton, root, task_level(number)) >> 1
            if target != state:
                labels = sets.minus(self._starts[callee.root], blocked)
                if labels == EMPTY:
                    raise ContradictionError(
                        f"task '{compiler.name}': '{task}' can never start, for what starts it is forbidden"
                    )
                calls.append((labels, callee.root, target))
        groups = [moved, *(labels for labels, _, _ in calls)]
        if compiler.tie is Tie.RIGHT:
            groups.reverse()
        left = _kept(sets, groups, compiler.tie)
        if compiler.tie is Tie.RIGHT:
            left.reverse()
        for (_, callee_root, _), kept in zip(calls, left[1:], strict=True):
            if kept == EMPTY:
                raise ContradictionError(
                    f"task '{compiler.name}': '{callee_root}' can never start alone, for every label that starts it "
                    f"is a move or starts another task too (tie: {compiler.tie.value})"
                )
        kept_moves = [(sets.both(labels, left[0]), LEAF, target) for labels, _, target in moves]
        kept_calls = [(kept, callee, target) for (_, callee, target), kept in zip(calls, left[1:], strict=True)]
        return [*failing, *(side for side in kept_moves if side[0] != EMPTY), *kept_calls]

    def _counted(self, ways: Mapping[int, list[tuple[LabelSet, str, int]]]) -> Label | None:
        """A label that leads to a state which the same label leaves."""
        sets = self._sets
        left = {
            state: _union(sets, [labels for labels, callee, _ in sides if callee == LEAF])
            for state, sides in ways.items()
        }
        for sides in ways.values():
            for labels, callee, target in sides:
                if callee == LEAF and (again := sets.both(labels, left.get(target, EMPTY))) != EMPTY:
                    return sets.smallest(again)
        return None


def _union(sets: LabelSets, parts: Iterable[LabelSet]) -> LabelSet:
    union = EMPTY
    for part in parts:
        union = sets.either(union, part)
    return union


def _kept(sets: LabelSets, groups: list[LabelSet], tie: Tie) -> list[LabelSet]:
    """What is left of each set of labels: without those of all others, or of those before."""
    kept = []
    for i, own in enumerate(groups):
        others = groups[:i] + (groups[i + 1 :] if tie is Tie.NEITHER else [])
        kept.append(sets.minus(own, _union(sets, others)))
    return kept


def _accept_of(accept: Accept | str) -> Accept:
    try:
        return Accept(accept)
    except ValueError:
        raise RewardMachineError(f"accept is 'first' or 'decided', not {accept!r}") from None


def _callee(name: str, tasks: Tasks) -> Hierarchy:
    """The machine of a task, with those that it calls."""
    task = tasks[name]
    if isinstance(task, Hierarchy):
        return task.rooted(task.root)
    expressions = {n: t for n, t in tasks.items() if isinstance(t, str)}
    return compile_task(name, expressions, machines=_given(tasks))


def _given(tasks: Tasks) -> Hierarchy | None:
    """The machines among the tasks, under the names of the tasks."""
    machines = _together({n: t.rooted(t.root) for n, t in tasks.items() if isinstance(t, Hierarchy) and t.root == n})
    return Hierarchy(next(iter(machines)), tuple(machines.values())) if machines else None


def _together(hierarchies: Mapping[str, Hierarchy]) -> dict[str, RewardMachine]:
    """The machines of all hierarchies, by their names."""
    machines: dict[str, RewardMachine] = {}
    for hierarchy in hierarchies.values():
        for machine in hierarchy.machines:
            if machines.setdefault(machine.name, machine) != machine:
                raise RewardMachineError(f"two tasks call different machines '{machine.name}': rename one")
    return machines


def _shown(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]} …"


_LONGEST_SHOWN: Final = 60
