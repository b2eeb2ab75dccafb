"""The command that asks: answers of a machine, of a script on standard input, and answers that are taken back."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from cli.commands import Hrm
from rewardmachines.core.equivalence import difference
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import verdict
from rewardmachines.files import load, load_traces, parse_word, save, save_traces
from rewardmachines.language import compile_task
from rewardmachines.library import task
from rewardmachines.traces import Outcome, Trace, singletons

KEYS = {Outcome.GOAL: "g", Outcome.DEAD_END: "d", Outcome.INCOMPLETE: "n"}


class Script:
    """Standard input of a script that knows a machine: it reads the questions, and says right or wrong of machines."""

    def __init__(self, truth: Hierarchy, capture: pytest.CaptureFixture[str], mistakes: int = 0) -> None:
        self._truth = truth
        self._capture = capture
        self._mistakes = mistakes
        self.said = ""
        self.questions: list[str] = []

    def isatty(self) -> bool:
        return False

    def readline(self) -> str:
        said = self._capture.readouterr().err
        self.said += said
        question = said.splitlines()[-1]
        if question.startswith("a trace that reaches"):
            return "key door\n"
        if question.startswith("is it right"):
            return "y\n"
        if "neither" not in question:
            return "g\n"
        (line,) = [line for line in said.splitlines() if line[:1].isdigit() or line.startswith("again: ")]
        word = line.split("    ")[0].split(" ", 1)[1]
        self.questions.append(word)
        if len(self.questions) > 2 and self._mistakes:
            self._mistakes -= 1
            return "u\n"
        right = KEYS[Outcome.of(verdict(self._truth, parse_word(word)))]
        wrong = "d" if right != "d" else "n"
        return f"{wrong if len(self.questions) == 2 and self._mistakes else right}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def type_lines(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


def test_a_machine_answers(hrm: Hrm, folder: Path) -> None:
    truth = task("craftworld", "paper")
    asked = ("ask", "--of", "craftworld/paper", "--propositions", "sugarcane,workbench,cow")
    assert hrm(*asked, "-o", "paper.yaml", "--save-traces", "answers.jsonl") == 0
    assert "as a task expression: sugarcane ; workbench" in hrm.err
    assert difference(load("paper.yaml"), truth, labels=singletons(["sugarcane", "workbench", "cow"])) is None
    assert all(verdict(truth, t.labels) is t.outcome.verdict for t in load_traces("answers.jsonl"))
    answer = hrm.json(*asked)
    assert (answer["result"], answer["states"], answer["unique_up_to"]) == ("learned", 3, 4)
    fewer = hrm.json(*asked, "--extra-states", 0)
    assert 0 < fewer["questions"]["membership"] < answer["questions"]["membership"]
    assert fewer["unique_up_to"] == 3


def test_a_script_answers_and_takes_an_answer_back(
    hrm: Hrm, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    truth = compile_task("key ; door avoid lava")
    script = Script(truth, capsys, mistakes=1)
    monkeypatch.setattr("sys.stdin", script)
    status = hrm("ask", "--propositions", "key,door,lava", "-o", "task.yaml", "--save-traces", "answers.jsonl")
    assert status == 0, script.said + hrm.err
    assert difference(load("task.yaml"), truth, labels=singletons(truth.propositions)) is None
    assert script.questions.count(script.questions[1]) == 2, "the wrong answer was asked for again"
    assert all(verdict(truth, t.labels) is t.outcome.verdict for t in load_traces("answers.jsonl"))


def test_leaving_keeps_the_answers_and_they_go_on(
    hrm: Hrm, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    truth = compile_task("key ; door avoid lava")
    type_lines(monkeypatch, "key door", "g", "n", "n", "q")
    assert hrm("ask", "--propositions", "key,door,lava") == 1
    assert "--traces root-answers.jsonl" in hrm.err
    kept = load_traces("root-answers.jsonl")
    assert {Trace(parse_word("key door"), Outcome.GOAL), Trace(parse_word("key"))} < set(kept)
    assert len(kept) == 4
    type_lines(monkeypatch, "key door", "g")  # and the end of the input
    assert hrm("ask", "--propositions", "key,door,lava") == 1
    assert len(load_traces("root-answers-2.jsonl")) == 2
    assert load_traces("root-answers.jsonl") == kept
    right = [trace for trace in kept if verdict(truth, trace.labels) is trace.outcome.verdict]
    save_traces(right, "right.jsonl")
    script = Script(truth, capsys)
    monkeypatch.setattr("sys.stdin", script)
    options = ["--traces", "right.jsonl", "--save-traces", "right.jsonl", "-o", "task.yaml"]
    assert hrm("ask", "--propositions", "key,door,lava", *options) == 0
    assert "a trace that reaches" not in script.said
    assert difference(load("task.yaml"), truth, labels=singletons(truth.propositions)) is None
    assert len(load_traces("right.jsonl")) > len(right)


def test_a_machine_that_is_called_by_wrong_traces_is_corrected(
    hrm: Hrm, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over one proposition there is nothing to ask; the trace that is typed makes it longer."""
    type_lines(monkeypatch, "a", "n", "g", "u", "a", "g", "b", "a", "g", "y")
    assert hrm("ask", "--propositions", "a", "-o", "a.yaml") == 0
    assert "it must have reached the goal" in hrm.err
    assert "there is no proposition 'b'" in hrm.err
    assert "the machine says so, too: goal" in hrm.err
    save(compile_task("a"), "truth.yaml")
    assert hrm("equivalent", "a.yaml", "truth.yaml") == 0


def test_a_machine_may_call_others(hrm: Hrm, folder: Path) -> None:
    options = [
        "--calls",
        "craftworld/bucket",
        "--propositions",
        "iron,table,cow",
        "--extra-states",
        0,
        "-o",
        "milk.yaml",
    ]
    assert hrm("ask", "--of", "craftworld/milk-bucket", *options) == 0
    assert load("milk.yaml")["root"].callees == {"bucket"}


def test_no_machine_keeps_the_answers(hrm: Hrm, folder: Path) -> None:
    save(compile_task("a | b"), "or.yaml")
    assert hrm("ask", "--of", "or.yaml", "--max-states", 2, "--disjuncts", 1) == 1
    assert "--disjuncts" in hrm.err
    assert load_traces("root-answers.jsonl")
    assert hrm("ask", "--of", "or.yaml") == 0


def test_an_answer_that_leaves_no_machine_can_be_taken_back(
    hrm: Hrm, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    type_lines(monkeypatch, "a", "g", "g", "u", "n", "y")
    options = ["--propositions", "a,b", "--max-states", 2, "--disjuncts", 1, "--extra-states", 0, "-o", "a.yaml"]
    assert hrm("ask", *options) == 0
    assert "no machine of up to 2 states" in hrm.err
    assert "again: b" in hrm.err
    save(compile_task("a"), "truth.yaml")
    assert hrm("equivalent", "a.yaml", "truth.yaml") == 0


def test_mistakes_are_one_line(hrm: Hrm, folder: Path) -> None:
    hrm.check_refused(["ask"], "--propositions a,b,c")
    hrm.check_refused(["ask", "--propositions", "a,,b"], "a name is missing")
    hrm.check_refused(["ask", "--propositions", "a", "--labels", "a c", "--of", "craftworld/paper"], "'c'")
    hrm.check_refused(["ask", "--of", "nothing.yaml"], "nothing.yaml")
