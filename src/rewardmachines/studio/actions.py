"""What the page of the Studio asks for: JSON in, JSON out, and nothing kept in between.

A request is a JSON object with the name of an `action`, and `answer` returns a JSON object: `ok` with a `result`, or
not `ok` with an `error` whose `message` is for the reader, and whose `at` is the position in the text where there is
one. The page cannot tell whether the functions run beside it, under Pyodide, or behind a server: all that they need is
the core of the package, in one process.

A hierarchy is given by a `source`: a `text`, perhaps its `language`, and perhaps the `form` that is wanted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias, cast

from rewardmachines.core.equivalence import difference
from rewardmachines.core.errors import NondeterminismError, RewardMachineError, TooLargeError
from rewardmachines.core.flattening import flatten
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import INITIAL, Edge
from rewardmachines.core.minimization import minimize
from rewardmachines.core.sizes import flat_size, size
from rewardmachines.core.traversal import (
    HierarchyState,
    Verdict,
    exit_condition,
    initial_state,
    move_on_event,
    step,
    verdict,
    verdict_of,
)
from rewardmachines.drawing import DrawingOptions, to_dot, to_svg
from rewardmachines.drawing.drawings import check_size
from rewardmachines.exchange import to_hoa
from rewardmachines.files import dumps, loads_traces, parse_word
from rewardmachines.files.document import parse_json
from rewardmachines.learning import ContradictoryTracesError, Learned, TimedOut, induce
from rewardmachines.library import domain_names, figure_names, find, task_set
from rewardmachines.studio.layout import machine_as_data
from rewardmachines.studio.sources import LANGUAGES, position_in, read
from rewardmachines.traces import Outcome, Trace, singletons

Json: TypeAlias = dict[str, Any]

MAX_LABELS: Final = 2_000
"""The labels of a trace that is played step by step."""
MAX_TRACES: Final = 2_000
_FORMS: Final = ("written", "flat", "minimal")
_SECONDS: Final = 20.0
_MOST_STATES: Final = 8


def answer(request: object) -> Json:
    """The answer to one request of the page; whatever the request is, the answer is an object.

    >>> answer({"action": "verdict", "source": {"text": "iron ; table"}, "trace": [["iron"], ["table"]]})
    {'ok': True, 'result': {'verdict': 'accept'}}
    >>> answer({"action": "parse", "source": {"text": "iron ;"}})["error"]["at"]["offset"]
    6
    """
    try:
        asked = _object(request, "a request")
        action = _ACTIONS.get(_text(asked, "action"))
        if action is None:
            raise RewardMachineError(f"there is no action '{asked['action']}': choose one of {', '.join(_ACTIONS)}")
        return {"ok": True, "result": action(asked)}
    except RewardMachineError as problem:
        return {"ok": False, "error": _problem(problem, request)}
    except RecursionError:
        return {"ok": False, "error": {"message": "this is nested too deep", "at": None}}


def _problem(problem: RewardMachineError, request: object) -> Json:
    source = request.get("source") if isinstance(request, Mapping) else None
    at = None
    if isinstance(source, Mapping) and isinstance(source.get("text"), str):
        at = position_in(source["text"], str(problem))
    return {"message": str(problem), "at": at}


# -- what is in a request


def _object(value: object, what: str) -> Json:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise RewardMachineError(f"{what} must be an object with names")
    return cast("Json", value)


def _text(request: Json, key: str, default: str | None = None) -> str:
    value = request.get(key, default)
    if not isinstance(value, str):
        raise RewardMachineError(f"'{key}' must be a text")
    return value


def _flag(request: Json, key: str, *, default: bool = False) -> bool:
    value = request.get(key, default)
    if not isinstance(value, bool):
        raise RewardMachineError(f"'{key}' must be true or false")
    return value


def _number(request: Json, key: str, default: float, least: float, most: float) -> float:
    value = request.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise RewardMachineError(f"'{key}' must be a number from {least:g} to {most:g}")
    return value


def _choice(request: Json, key: str, known: Sequence[str]) -> str:
    value = _text(request, key, known[0])
    if value not in known:
        raise RewardMachineError(f"'{key}' is one of {', '.join(known)}, not '{value}'")
    return value


def _hierarchy(request: Json, key: str = "source") -> Hierarchy:
    """The hierarchy of a source, in the form that it asks for."""
    source = _object(request.get(key), f"'{key}'")
    text, name = _text(source, "text"), _text(source, "name", "task")
    return _built(text, _choice(source, "language", LANGUAGES), name, _choice(source, "form", _FORMS))


@lru_cache(maxsize=64)
def _built(text: str, language: str, name: str, form: str) -> Hierarchy:
    """A step asks for the same hierarchy as the one before: it is built once."""
    if form == "written":
        return read(text, language, name)
    flat = flatten(_built(text, language, name, "written"))
    return minimize(flat) if form == "minimal" else flat


def _labels(value: object, what: str = "'trace'") -> tuple[Label, ...]:
    """The labels of a trace: lists of propositions, or a text as it is typed by hand."""
    if isinstance(value, str):
        labels = parse_word(value)
    elif isinstance(value, list) and all(isinstance(label, list) for label in value):
        if not all(isinstance(name, str) for label in value for name in label):
            raise RewardMachineError(f"{what}: propositions must be texts")
        labels = tuple(map(frozenset, value))
    else:
        raise RewardMachineError(f"{what} must be a list of lists of propositions, or a text")
    if len(labels) > MAX_LABELS:
        raise TooLargeError(f"{what} has {len(labels):,} labels: at most {MAX_LABELS:,} are played")
    return labels


def _listed(labels: Sequence[Label]) -> list[list[str]]:
    return [sorted(label) for label in labels]


# -- reading and drawing


def _parse(request: Json) -> Json:
    """Whether a text is a hierarchy, and what there is to know about it."""
    return _summary(_hierarchy(request))


def _summary(hierarchy: Hierarchy) -> Json:
    whole = size(hierarchy)
    try:
        flat = flat_size(hierarchy)
        flat_sizes: Json | None = {"states": flat.states, "edges": flat.edges}
    except TooLargeError:
        flat_sizes = None
    return {
        "root": hierarchy.root,
        "propositions": list(hierarchy.propositions),
        "machines": [machine.name for machine in hierarchy.reachable()],
        "height": hierarchy.height,
        "size": {"states": whole.states, "edges": whole.edges},
        "flat_size": flat_sizes,
    }


def _draw(request: Json) -> Json:
    """The machines of a hierarchy with a layout, the root first."""
    hierarchy = _hierarchy(request)
    check_size(hierarchy)
    width = _number(request, "width", 900, 200, 10_000)
    machines = [machine_as_data(machine, width) for machine in hierarchy.reachable()]
    return {**_summary(hierarchy), "drawn": machines}


def _flatten(request: Json) -> Json:
    return _in_form(request, "flat")


def _minimize(request: Json) -> Json:
    return _in_form(request, "minimal")


def _in_form(request: Json, form: str) -> Json:
    source = {**_object(request.get("source"), "'source'"), "form": form}
    built = _hierarchy({"source": source})
    return {**_summary(built), "yaml": dumps(built)}


# -- stepping


def _step(request: Json) -> Json:
    """The hierarchy states through which a trace leads, and what may come next in each of them.

    A label that could start two calls ends it: the states up to there are in the result, beside the `problem`.
    """
    hierarchy, labels = _hierarchy(request), _labels(request.get("trace", []))
    events = _flag(request, "events")
    state = initial_state(hierarchy)
    states, problem, before = [_moment(hierarchy, state)], None, None
    for label in labels:
        try:
            state = move_on_event(hierarchy, state, before, label) if events else step(hierarchy, state, label)
        except NondeterminismError as clash:
            problem = str(clash)
            break
        states.append(_moment(hierarchy, state))
        before = label
    unknown = sorted(frozenset().union(*labels) - {*hierarchy.propositions})
    return {
        "trace": _listed(labels),
        "states": states,
        "problem": problem,
        "unknown": unknown,
        "next": _next(hierarchy, state, before if events else None),
    }


def _moment(hierarchy: Hierarchy, state: HierarchyState) -> Json:
    return {
        "machine": state.machine,
        "state": state.state,
        "context": str(state.context),
        "stack": [
            {
                "caller": call.caller,
                "source": call.source,
                "target": call.target,
                "callee": call.callee,
                "formula": str(call.formula),
                "context": str(call.context),
            }
            for call in state.stack
        ],
        "verdict": verdict_of(hierarchy, state).value,
    }


def _next(hierarchy: Hierarchy, state: HierarchyState, before: Label | None) -> Json:
    """What could happen next: the exit conditions of the present state, and where each label would lead."""
    machine = hierarchy[state.machine]
    over = machine.is_terminal(state.state)
    return {
        "exits": [] if over else [_exit(hierarchy, state, edge) for edge in machine.outgoing(state.state)],
        "labels": [
            {"label": sorted(label), **_effect(hierarchy, state, before, label)}
            for label in singletons(hierarchy.propositions)
        ],
    }


def _exit(hierarchy: Hierarchy, state: HierarchyState, edge: Edge) -> Json:
    initial = INITIAL if edge.calls_leaf else hierarchy[edge.callee].initial
    try:
        condition = exit_condition(hierarchy, edge.callee, initial, state.context & edge.formula)
        shown: str | None = str(condition)
        open_: bool = not condition.is_false
    except TooLargeError:
        shown, open_ = None, True
    return {
        "source": edge.source,
        "target": edge.target,
        "callee": None if edge.calls_leaf else edge.callee,
        "condition": shown,
        "possible": open_,
    }


def _effect(hierarchy: Hierarchy, state: HierarchyState, before: Label | None, label: Label) -> Json:
    try:
        after = move_on_event(hierarchy, state, before, label)
    except NondeterminismError as clash:
        return {"effect": "clash", "message": str(clash)}
    given = verdict_of(hierarchy, after)
    if after == state:
        return {"effect": "stay"}
    return {"effect": "move" if given is Verdict.NEITHER else given.value, "machine": after.machine}


def _verdict(request: Json) -> Json:
    hierarchy = _hierarchy(request)
    given = verdict(hierarchy, _labels(request.get("trace", [])), events=_flag(request, "events"))
    return {"verdict": given.value}


# -- comparing and learning


def _compare(request: Json) -> Json:
    """Whether two hierarchies give every trace the same verdict, or else a shortest trace with different ones."""
    a, b = _hierarchy(request), _hierarchy(request, "other")
    events = _flag(request, "events")
    choice = _choice(request, "labels", ("all", "singletons"))
    labels = None if choice == "all" else singletons(dict.fromkeys([*a.propositions, *b.propositions]))
    word = difference(a, b, labels=labels, events=events)
    if word is None:
        return {"equal": True}
    if len(word) > MAX_LABELS:
        raise TooLargeError(f"they differ, on a trace of {len(word):,} labels: more than {MAX_LABELS:,} are not shown")
    return {"equal": False, "trace": _listed(word), "verdicts": [verdict(h, word).value for h in (a, b)]}


def _induce(request: Json) -> Json:
    """The smallest machine that explains the traces, or what is known of there being none."""
    traces = list(_traces(request.get("traces")))
    names = request.get("propositions")
    if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise RewardMachineError("'propositions' must be a list of texts")
    try:
        result = induce(
            traces,
            names,
            max_states=int(_number(request, "max_states", _MOST_STATES, 2, 30)),
            timeout=_number(request, "seconds", _SECONDS, 0.1, 3_600),
            disjuncts=int(_number(request, "disjuncts", 1, 1, 8)),
            acyclic=not _flag(request, "cyclic"),
            negative_formulas=_flag(request, "negative"),
            prefix_knowledge=_flag(request, "whole_episodes", default=True),
            name=_text(request, "name", "learned"),
        )
    except ContradictoryTracesError as problem:
        indices = sorted(traces.index(trace) for trace in problem.traces if trace in traces)
        return {"status": "contradictory", "message": problem.finding, "traces": indices}
    common: Json = {"refuted": list(result.refuted), "seconds": round(result.seconds, 3)}
    if isinstance(result, Learned):
        return {"status": "learned", "states": result.states, "yaml": dumps(result.hierarchy), **common}
    if isinstance(result, TimedOut):
        return {"status": "timed out", "bound": result.bound, "reason": result.reason, **common}
    return {"status": "unsatisfiable", "max_states": result.max_states, **common}


def _traces(value: object) -> Iterator[Trace]:
    """The traces of a request: objects with labels and an outcome, or the text of a trace file."""
    if isinstance(value, str):
        value = [{"labels": _listed(t.labels), "outcome": t.outcome.value} for t in loads_traces(value, "traces")]
    if not isinstance(value, list):
        raise RewardMachineError("'traces' must be a list, or the text of a trace file")
    if len(value) > MAX_TRACES:
        raise TooLargeError(f"{len(value):,} traces: at most {MAX_TRACES:,} are learned from here")
    for number, one in enumerate(value, start=1):
        content = _object(one, f"trace {number}")
        outcome = _choice(content, "outcome", [Outcome.INCOMPLETE.value, *(o.value for o in Outcome)])
        yield Trace(_labels(content.get("labels"), f"trace {number}"), Outcome(outcome))


# -- files


def _import(request: Json) -> Json:
    """A text in any of the languages as a machine file; a trace file as traces."""
    if _choice(request, "kind", ("hierarchy", "traces")) == "traces":
        traces = loads_traces(_text(request, "text"), "traces")
        return {"traces": [{"labels": _listed(t.labels), "outcome": t.outcome.value} for t in traces]}
    hierarchy = _hierarchy(request)
    return {**_summary(hierarchy), "yaml": dumps(hierarchy)}


def _export(request: Json) -> Json:
    """A file to be saved: its name and its text."""
    hierarchy = _hierarchy(request)
    kind = _choice(request, "to", tuple(_EXPORTS))
    theme = _choice(request, "theme", ("light", "dark"))
    text = _EXPORTS[kind](hierarchy, DrawingOptions(theme="dark" if theme == "dark" else "light"))
    return {"name": f"{hierarchy.root}.{kind}", "text": text}


_EXPORTS: Final[Mapping[str, Callable[[Hierarchy, DrawingOptions], str]]] = {
    "yaml": lambda hierarchy, _: dumps(hierarchy),
    "svg": lambda hierarchy, options: to_svg(hierarchy, options=options),
    "dot": lambda hierarchy, _: to_dot(hierarchy),
    "hoa": lambda hierarchy, _: to_hoa(hierarchy if hierarchy.is_flat else flatten(hierarchy)),
}


def _examples(_: Json) -> Json:
    """Texts to begin with: a few of our own, and the tasks and figures of the library."""
    shelves = [{"shelf": "First steps", "examples": [{"name": name, "text": text} for name, text in _FIRST.items()]}]
    for name in domain_names():
        known = task_set(name)
        tasks = [{"name": task, "text": dumps(known.hierarchy(task))} for task in known.tasks]
        shelves.append({"shelf": known.title, "examples": tasks})
    figures = [{"name": name, "text": dumps(find(f"figures/{name}"))} for name in figure_names()]
    return {"shelves": [*shelves, {"shelf": "Figures of the paper", "examples": figures}]}


_FIRST: Final = {
    "one after the other": "iron ; table",
    "in any order, then": "(wheat & chicken) ; table",
    "one of two": "(iron | gold) ; table avoid lava",
    "tasks within a task": """\
tasks:
  paper: sugarcane ; workbench
  leather: rabbit ; workbench
  book: (paper & leather) ; table
""",
    "a temporal formula": "ltlf: F(key & F door) & G !lava",
    "a regular expression": "regex: key ; .* ; door",
}


_ACTIONS: Final[Mapping[str, Callable[[Json], Json]]] = {
    "parse": _parse,
    "draw": _draw,
    "step": _step,
    "verdict": _verdict,
    "flatten": _flatten,
    "minimize": _minimize,
    "compare": _compare,
    "induce": _induce,
    "import": _import,
    "export": _export,
    "examples": _examples,
}


def answer_text(request: str) -> str:
    """`answer` for a text of JSON: what crosses the border to a page."""
    try:
        asked = parse_json(request, "request")
    except RewardMachineError as problem:
        return json.dumps({"ok": False, "error": {"message": str(problem), "at": None}})
    return json.dumps(answer(asked))
