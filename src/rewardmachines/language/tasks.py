"""Tasks in any of the three languages: task expressions, LTLf, and regular expressions over labels.

A text that begins with `ltlf:` or `regex:` is a formula or a regular expression, as in `ltlf: F(key & F door)`; what
else can be chosen goes in parentheses: `ltlf(end=done): G(a -> F b)`. Any other text is a task expression. All of them
use each other by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final, Literal, TypeAlias

from rewardmachines.core.errors import CircularCallError, RewardMachineError, TooLargeError
from rewardmachines.core.formula import Formula, conjunction
from rewardmachines.core.hierarchy import Hierarchy, suggestion
from rewardmachines.core.labelsets import EMPTY, EVERY, LabelSets
from rewardmachines.core.machine import REJECTING, Edge, RewardMachine
from rewardmachines.core.minimization import minimize
from rewardmachines.language.compiler import Ignored, Tie, tie_of
from rewardmachines.language.compiler import compile_task as compile_expression
from rewardmachines.language.ltlf import CountsSteps, compile_ltlf, compile_regex
from rewardmachines.language.ltlf.regex import parse_regex
from rewardmachines.language.ltlf.syntax import parse_ltlf
from rewardmachines.language.program import MAX_NAMED, names_in
from rewardmachines.language.syntax import parse_task

LANGUAGES: Final = ("ltlf", "regex")
OPTIONS: Final = ("accept", "end", "next")
_BEGINNING: Final = re.compile(r"\s*(?P<language>ltlf|regex)\s*(?:\((?P<options>[^()]*)\)\s*)?:", re.IGNORECASE)

Note: TypeAlias = Ignored | CountsSteps
"""What may surprise about a task that is compiled; its text is a line."""


@dataclass(frozen=True, slots=True)
class FormalTask:
    """A task that is given as an LTLf formula, or as a regular expression over labels."""

    language: str
    """"ltlf" or "regex"."""
    text: str
    accept: str | None = None
    """When it accepts: "first" (the default) or "decided"."""
    end: str | None = None
    """The proposition on which it is judged."""
    next: str | None = None
    """The reading of a bare `X`: "strong" or "weak"."""

    def __post_init__(self) -> None:
        if self.language not in LANGUAGES:
            hint = suggestion(self.language, LANGUAGES) or f"; there are {', '.join(LANGUAGES)}"
            raise RewardMachineError(f"there is no language '{self.language}'{hint}")
        if self.language == "regex" and self.next is not None:
            raise RewardMachineError("next is for LTLf: a regular expression has no X")

    def names(self, description: str) -> tuple[str, ...]:
        """The names that it mentions, propositions and tasks; `description` says in messages whose text it is."""
        if self.language == "regex":
            return parse_regex(self.text, description).names
        return parse_ltlf(self.text, description).names

    def compile(
        self,
        tasks: Mapping[str, Hierarchy],
        *,
        propositions: Iterable[str] | None,
        tie: Tie,
        name: str,
        watch: Callable[[Note], None] | None,
    ) -> Hierarchy:
        """The machine, which calls those of the tasks that it names."""
        chosen: dict[str, Any] = {"accept": self.accept or "first", "end": self.end}
        chosen |= {"propositions": propositions, "tie": tie, "name": name, "watch": watch}
        if self.language == "regex":
            return compile_regex(self.text, tasks, **chosen)
        return compile_ltlf(self.text, tasks, **chosen | {"next": self.next})


def read_task(text: str | FormalTask) -> str | FormalTask:
    """The task of a text: a formula or regular expression, if its beginning says so, or a task expression.

    >>> read_task("ltlf(end=done): G !lava")
    FormalTask(language='ltlf', text='G !lava', accept=None, end='done', next=None)
    """
    if isinstance(text, FormalTask) or (found := _BEGINNING.match(text)) is None:
        return text
    chosen: dict[str, str] = {}
    for option in filter(str.strip, (found["options"] or "").split(",")):
        key, equals, value = (part.strip() for part in option.partition("="))
        if key not in OPTIONS or not equals or not value:
            raise RewardMachineError(f"'{option.strip()}': write {' or '.join(f'{o}=...' for o in OPTIONS)}")
        chosen[key] = value
    return FormalTask(found["language"].lower(), text[found.end() :].strip(), **chosen)


def compile_task(
    expression: str | FormalTask,
    tasks: Mapping[str, str] | Mapping[str, str | FormalTask] | None = None,
    *,
    avoid: Iterable[str] = (),
    propositions: Iterable[str] | None = None,
    tie: Tie | Literal["neither", "left", "right"] = Tie.NEITHER,
    name: str = "task",
    machines: Hierarchy | None = None,
    watch: Callable[[Note], None] | None = None,
) -> Hierarchy:
    """The deterministic hierarchy of a task.

    Args:
        expression: The task: steps joined by `;` (in this order), `&` (in any order) and `|` (one of them); or `ltlf:`
            and a formula, or `regex:` and a regular expression over labels. An expression that is just the name of a
            task is that task.
        tasks: Names for expressions; each becomes a machine. A name that is not among them is a proposition.
        avoid: Propositions that must not be seen.
        propositions: The known propositions; others are then errors.
        tie: The rule for a label that would start both sides.
        name: The name of the root.
        machines: Machines that there are already, such as learned ones. They are used by name, like tasks, and are in
            the hierarchy as they are. What is to be avoided does not change them.
        watch: Called for each `&` and `|` with the labels that are ignored because of a tie, if there are any, and for
            each formula that counts steps.

    Raises:
        RewardMachineError: The expression makes no sense, or the hierarchy would be too large.

    >>> book = compile_task(
    ...     "(paper & leather) ; table",
    ...     {"paper": "sugarcane ; workbench", "leather": "ltlf: F(rabbit & X[!] F workbench)"},
    ...     name="book",
    ... )
    >>> [machine.name for machine in book], book.height
    (['book', 'leather', 'paper'], 2)
    """
    known = {own: read_task(text) for own, text in (tasks or {}).items()}
    root = read_task(expression)
    expressions = {own: task for own, task in known.items() if isinstance(task, str)}
    if isinstance(root, str) and len(expressions) == len(known):
        return compile_expression(
            root,
            expressions,
            avoid=avoid,
            propositions=propositions,
            tie=tie,
            name=name,
            machines=machines,
            watch=watch,
        )
    declared = None if propositions is None else tuple(propositions)
    return _Mixture(known, tuple(avoid), declared, tie_of(tie), machines, watch).hierarchy(root, name)


class _Mixture:
    """Tasks in several languages: those that are used are compiled one after the other, callees first."""

    def __init__(
        self,
        tasks: Mapping[str, str | FormalTask],
        avoid: tuple[str, ...],
        propositions: tuple[str, ...] | None,
        tie: Tie,
        given: Hierarchy | None,
        watch: Callable[[Note], None] | None,
    ) -> None:
        self._tasks = tasks
        self._avoid = avoid
        self._propositions = propositions
        self._tie = tie
        self._given = {} if given is None else {each.name: each for each in given.machines}
        self._notes: list[Note] = []
        self._tell: Callable[[Note], object] = watch or (lambda _: None)
        self._watch: Callable[[Note], None] | None = None if watch is None else self._note
        self._built: dict[str, Hierarchy] = {}
        """The hierarchies of tasks so far."""
        self._forbidden: dict[str, tuple[str, ...]] = {}
        """What the callers of a task forbid."""
        if both := sorted({*tasks} & {*self._given}):
            raise RewardMachineError(f"'{both[0]}' is both a task and a machine: rename one")

    def hierarchy(self, root: str | FormalTask, name: str) -> Hierarchy:
        if isinstance(root, str) and (alone := self._alone(root)) is not None:
            root, name = self._tasks[alone], alone
        elif name in self._tasks or name in self._given:
            raise RewardMachineError(f"the root cannot be called '{name}': a task has that name; pass another name")
        order = self._in_order(root, name)
        sources = [root, *(self._tasks[used] for used in order)]
        inner = (p for each in sources if isinstance(each, str) for p in _avoided_by(each))
        self._avoid = tuple(dict.fromkeys((*self._avoid, *inner)))
        whole = self._whole(root, name, order)
        if self._note_forbidden(root, whole[name], order):
            whole = self._whole(root, name, order)
        for note in self._notes:
            self._tell(note)
        if self._propositions is not None:
            return whole
        known = sorted({*whole.propositions, *(p for h in self._built.values() for p in h.propositions)})
        return Hierarchy(whole.root, whole.machines, tuple(known))

    def _note(self, note: Note) -> None:
        self._notes.append(note)

    def _whole(self, root: str | FormalTask, name: str, order: list[str]) -> Hierarchy:
        self._built, self._notes = {}, []
        for used in order:
            self._built[used] = self._compiled(used, self._tasks[used])
        return self._compiled(name, root)

    def _note_forbidden(self, root: str | FormalTask, built: RewardMachine, order: list[str]) -> bool:
        """Finds what formulas forbid throughout: the tasks that they call avoid it, too. False if there is nothing.

        Without it, a caller that waits for its callee would miss what happens meanwhile.
        """
        found: dict[str, list[str]] = {}
        for source, machine, name in (
            (root, built, built.name),
            *((self._tasks[used], self._built[used][used], used) for used in reversed(order)),
        ):
            inherited = found.get(name, [])
            own = forbidden_by(machine) if isinstance(source, FormalTask) else []
            for used in self._used(source, name):
                found[used] = [*dict.fromkeys([*found.get(used, []), *inherited, *own])]
        self._forbidden = {name: tuple(some) for name, some in found.items() if some}
        return bool(self._forbidden)

    def _alone(self, text: str) -> str | None:
        """The task that is the whole expression, if it is nothing else."""
        parsed = parse_task(text)
        names = names_in(parsed.body)
        is_name = not parsed.avoid and len(names) == 1 and parsed.body == names[0]
        return names[0].name if is_name and names[0].name in self._tasks else None

    def _in_order(self, root: str | FormalTask, name: str) -> list[str]:
        """The tasks that are used, callees first."""
        order: dict[str, None] = {}

        def add(source: str | FormalTask, path: tuple[str, ...]) -> None:
            for used in self._used(source, path[-1]):
                if used in path:
                    circle = " -> ".join([*path[path.index(used) :], used])
                    raise CircularCallError(f"tasks use each other in a circle: {circle}")
                if len(path) > MAX_NAMED:
                    raise TooLargeError(f"tasks use each other more than {MAX_NAMED} deep")
                if used not in order:
                    add(self._tasks[used], (*path, used))
                    order[used] = None

        add(root, (name,))
        return list(order)

    def _used(self, source: str | FormalTask, name: str) -> list[str]:
        """The tasks that a task names."""
        description = f"task '{name}'"
        if isinstance(source, FormalTask):
            return [used for used in source.names(description) if used in self._tasks]
        return [used.name for used in names_in(parse_task(source, description).body) if used.name in self._tasks]

    def _compiled(self, name: str, source: str | FormalTask) -> Hierarchy:
        if isinstance(source, str):
            return self._expression(name, source)
        given = {own: Hierarchy(own, tuple(self._given.values()), self._propositions or ()) for own in self._given}
        compiled = source.compile(
            {**given, **self._built}, propositions=self._propositions, tie=self._tie, name=name, watch=self._watch
        )
        return avoiding(compiled, self._avoided_in(name), {*self._given, *self._built})

    def _avoided_in(self, name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self._avoid, *self._forbidden.get(name, ()))))

    def _expression(self, name: str, text: str) -> Hierarchy:
        machines = dict(self._given)
        for built in self._built.values():
            for machine in built.machines:
                machines.setdefault(machine.name, machine)
        own = {p for built in self._built.values() for p in built.propositions}
        return compile_expression(
            text,
            {},
            avoid=self._avoided_in(name),
            propositions=self._propositions,
            tie=self._tie,
            name=name,
            machines=Hierarchy(next(iter(machines)), tuple(machines.values()), tuple(sorted(own)))
            if machines
            else None,
            watch=self._watch,
        )


def _avoided_by(text: str) -> list[str]:
    return [name.name for name in parse_task(text).avoid]


def forbidden_by(machine: RewardMachine) -> list[str]:
    """The propositions on which every state of a machine rejects."""
    inner = [state for state in machine.states if not machine.is_terminal(state)]
    sets = LabelSets(sorted(machine.propositions))
    rejected = EVERY
    for state in inner:
        own = [sets.of(edge.formula) for edge in machine.outgoing(state) if edge.target in machine.rejecting]
        rejected = sets.both(rejected, reduce(sets.either, own, EMPTY))
    allowed = sets.complement(rejected)
    return [p for p in sets.propositions if sets.both(allowed, sets.of(conjunction({p}))) == EMPTY]


def avoiding(whole: Hierarchy, avoid: Iterable[str], kept: Iterable[str] = ()) -> Hierarchy:
    """The hierarchy whose machines reject on certain propositions, wherever they stand, but for those to be kept."""
    avoided = Formula(frozenset().union(*(conjunction({p}).disjuncts for p in avoid)))
    if avoided.is_false:
        return whole
    safe, names = conjunction((), avoided.propositions), set(kept)
    machines = tuple(each if each.name in names else _avoiding(each, avoided, safe) for each in whole.machines)
    propositions = tuple(dict.fromkeys((*whole.propositions, *sorted(avoided.propositions))))
    return minimize(Hierarchy(whole.root, machines, propositions), merge_machines=False)


def _avoiding(machine: RewardMachine, avoided: Formula, safe: Formula) -> RewardMachine:
    end = next(iter(sorted(machine.rejecting)), REJECTING)
    edges = [Edge(e.source, e.target, e.formula & safe, e.callee) for e in machine.edges]
    inner = [state for state in machine.states if not machine.is_terminal(state)]
    return RewardMachine(
        name=machine.name,
        states=tuple(dict.fromkeys((*machine.states, end))),
        edges=(*(e for e in edges if not e.formula.is_false), *(Edge(state, end, avoided) for state in inner)),
        initial=machine.initial,
        accepting=machine.accepting,
        rejecting=machine.rejecting | {end},
    )
