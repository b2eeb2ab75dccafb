"""The functions behind the page: JSON in, JSON out, whatever comes."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rewardmachines as rm
from rewardmachines.library import domain_names
from rewardmachines.studio.actions import MAX_LABELS, answer, answer_text
from studio.pieces import PIECES

BOOK = """\
tasks:
  paper: sugarcane ; workbench
  leather: rabbit ; workbench
  book: (paper & leather) ; table
"""


TWO_STEPS = rm.compile_task("a ; b")


def ask(action: str, text: str = BOOK, **rest: Any) -> Any:
    given = answer({"action": action, "source": {"text": text}, **rest})
    assert given["ok"], given
    assert json.loads(json.dumps(given)) == given
    return given["result"]


def error(action: str, text: str, **rest: Any) -> Any:
    given = answer({"action": action, "source": {"text": text}, **rest})
    assert not given["ok"], given
    return given["error"]


def test_a_task_file_is_read_as_its_last_task() -> None:
    parsed = ask("parse")
    assert (parsed["root"], parsed["height"]) == ("book", 2)
    assert parsed["machines"] == ["book", "leather", "paper"]
    assert parsed["size"] == {"states": 11, "edges": 9}


@pytest.mark.parametrize(
    "text",
    [
        "a ; b",
        "ltlf: F(a & F b)",
        "regex: a ; .* ; b",
        rm.dumps(rm.compile_task("a ; b")),
        rm.to_hoa(rm.compile_task("a ; b")),
    ],
)
def test_every_language_is_found_out(text: str) -> None:
    assert ask("verdict", text, trace=[["a"], ["b"]]) == {"verdict": "accept"}


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a ; $", 1, 5),
        ("a ;\nb ; ;", 2, 5),
        ("  ltlf: F(a & ", 1, 14),
        ("tasks:\n  p: a ; b\n  q: 'p ; ; c'\n", 3, 11),
        ("tasks:\n  p: a ; b\n  q: \"ltlf: F(a &\"\n", 3, 18),
        ("root: [a\n", 2, 1),
        ("root: m\nmachines:\n  m:\n    edges:\n      - u0 uA", 5, 1),
        ("HOA: v1\nxx", 2, 1),
    ],
)  # fmt: skip
def test_an_error_has_its_place_in_the_text(text: str, line: int, column: int) -> None:
    at = error("parse", text)["at"]
    assert (at["line"], at["column"]) == (line, column)


def test_an_offset_counts_as_pages_do() -> None:
    assert error("parse", '"😀" ; $')["at"]["offset"] == 7


def test_a_layout_has_every_state_and_edge_within_its_borders() -> None:
    drawn = ask("draw", width=400)["drawn"]
    assert [machine["name"] for machine in drawn] == ["book", "leather", "paper"]
    hierarchy = rm.compile_task("(p & l) ; table", {"p": "sugarcane ; workbench", "l": "rabbit ; workbench"})
    for machine, known in zip(drawn, hierarchy, strict=True):
        assert {state["name"] for state in machine["states"]} == set(known.states)
        assert sum(len(edge["labels"]) for edge in machine["edges"]) == len(known.edges)
        for placed in (*machine["states"], *(label for edge in machine["edges"] for label in edge["labels"])):
            box = placed["box"]
            assert -0.1 <= box["x"] <= box["x"] + box["w"] <= machine["width"] + 0.1
            assert -0.1 <= box["y"] <= box["y"] + box["h"] <= machine["height"] + 0.1


def test_steps_show_machine_state_context_and_call_stack() -> None:
    played = ask("step", trace="sugarcane {} workbench rabbit workbench table")
    assert [state["machine"] for state in played["states"]] == [
        "book",
        "paper",
        "paper",
        "book",
        "leather",
        "book",
        "book",
    ]
    assert [state["verdict"] for state in played["states"]] == ["neither"] * 6 + ["accept"]
    assert played["states"][1]["stack"] == [
        {"caller": "book", "source": "u0", "target": "u2", "callee": "paper", "formula": "!rabbit", "context": "true"}
    ]
    assert played["next"]["exits"] == []


def test_what_may_come_next_is_what_steps_do() -> None:
    coming = ask("step", trace=[])["next"]
    assert {exit_["callee"]: exit_["condition"] for exit_ in coming["exits"]} == {
        "leather": "rabbit & !sugarcane",
        "paper": "sugarcane & !rabbit",
    }
    for each in coming["labels"]:
        after = ask("step", trace=[each["label"]])["states"]
        assert (after[1] != after[0]) == (each["effect"] != "stay")


def test_a_label_that_starts_two_calls_ends_the_trace() -> None:
    clashing = rm.dumps(rm.hierarchy(rm.machine("m", [("u0", "u1", "a"), ("u0", "uA", "b")])))
    played = ask("step", clashing, trace="{} a,b a")
    assert len(played["states"]) == 2
    assert "starts both" in played["problem"]


def test_unknown_propositions_are_named() -> None:
    assert ask("step", trace="sugarcan table")["unknown"] == ["sugarcan"]


def test_events_are_labels_that_differ_from_the_one_before() -> None:
    assert ask("step", "a ; a", trace="a a")["states"][-1]["verdict"] == "accept"
    assert ask("step", "a ; a", trace="a a", events=True)["states"][-1]["verdict"] == "neither"


def test_flat_and_minimal_forms_are_equivalent() -> None:
    for action in ("flatten", "minimize"):
        built = ask(action)
        assert built["machines"] == ["book"]
        assert ask("compare", other={"text": built["yaml"]}) == {"equal": True}


def test_a_shortest_trace_separates() -> None:
    assert ask("compare", "a ; b", other={"text": "a"}) == {
        "equal": False,
        "trace": [["a"]],
        "verdicts": ["neither", "accept"],
    }


def test_a_machine_is_learned_refuted_and_learned_again() -> None:
    traces = [{"labels": [["a"], ["b"]], "outcome": "goal"}]
    for _ in range(6):
        learned = ask("induce", traces=traces, propositions=["a", "b"])
        assert learned["status"] == "learned"
        found = ask("compare", "a ; b", other={"text": learned["yaml"]}, events=True)
        if found["equal"]:
            break
        outcome = {"accept": "goal", "reject": "dead_end", "neither": "incomplete"}[found["verdicts"][0]]
        traces.append({"labels": found["trace"], "outcome": outcome})
    assert found["equal"]
    assert len(traces) > 1


def test_traces_that_contradict_each_other_are_named() -> None:
    traces = [
        {"labels": "a", "outcome": "goal"},
        {"labels": "b", "outcome": "goal"},
        {"labels": "a", "outcome": "dead_end"},
    ]
    assert ask("induce", traces=traces)["traces"] == [0, 2]


@pytest.mark.parametrize("kind", ["yaml", "svg", "dot", "hoa"])
def test_what_is_exported_can_be_imported(kind: str) -> None:
    file = ask("export", to=kind)
    assert file["name"] == f"book.{kind}"
    if kind == "yaml" or kind == "hoa":
        assert ask("compare", other={"text": ask("import", file["text"])["yaml"]}) == {"equal": True}


def test_trace_files_are_imported() -> None:
    text = '{"outcome": "goal", "labels": [["iron"], [], ["table"]]}\n'
    given = answer({"action": "import", "kind": "traces", "text": text})
    assert given["result"] == {"traces": [{"labels": [["iron"], [], ["table"]], "outcome": "goal"}]}


def test_every_example_can_be_drawn() -> None:
    shelves = answer({"action": "examples"})["result"]["shelves"]
    assert len(shelves) == 2 + len(domain_names())
    for shelf in shelves:
        for example in shelf["examples"]:
            ask("draw", example["text"])


@pytest.mark.parametrize(
    "request_",
    [
        None, [], {}, {"action": 3}, {"action": "format"}, {"action": "parse"}, {"action": "parse", "source": "a"},
        {"action": "parse", "source": {"text": 3}}, {"action": "parse", "source": {"text": "a", "language": "c"}},
        {"action": "step", "source": {"text": "a"}, "trace": [["a", 3]]},
        {"action": "step", "source": {"text": "a"}, "trace": "a " * (MAX_LABELS + 1)},
        {"action": "step", "source": {"text": "a"}, "trace": [], "events": "yes"},
        {"action": "draw", "source": {"text": "a"}, "width": float("nan")},
        {"action": "draw", "source": {"text": "a"}, "width": True},
        {"action": "compare", "source": {"text": "a"}}, {"action": "induce"},
        {"action": "induce", "traces": [{"labels": "a", "outcome": "won"}]},
        {"action": "induce", "traces": [{"labels": "a"}]},
        {"action": "export", "source": {"text": "a"}, "to": "exe"}, {"action": "import", "kind": "traces", "text": "x"},
    ],
)  # fmt: skip
def test_requests_that_make_no_sense_are_answered(request_: object) -> None:
    given = answer(request_)
    assert not given["ok"]
    assert given["error"]["message"]


def test_text_that_is_no_json_is_answered() -> None:
    assert not json.loads(answer_text("{"))["ok"]
    assert json.loads(answer_text('{"action": "parse", "source": {"text": "a"}}'))["ok"]


@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PIECES), max_size=25).map("".join)))
def test_no_text_goes_unanswered(text: str) -> None:
    given = answer({"action": "draw", "source": {"text": text}})
    at = None if given["ok"] else given["error"]["at"]
    assert at is None or 0 <= at["offset"] <= len(text.encode("utf-16-le", "surrogatepass")) // 2


def test_the_functions_need_nothing_of_the_extras() -> None:
    code = "import rewardmachines.studio.actions, sys; print(*{m.partition('.')[0] for m in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"jax", "numpy", "gymnasium", "matplotlib", "rich", "tyro", "starlette"} & set(loaded)
