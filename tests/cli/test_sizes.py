"""Commands on hierarchies that are small to write and large to unfold: an answer, or one line that says why not."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from cli.commands import Hrm

CHAIN = " <-> ".join("abcdefghijklmnopqrst")
CONTEXT = """
root: m0
machines:
  m0: {edges: [{from: u0, to: uA, call: m1, when: "!a | !b"}]}
  m1: {edges: [{from: u0, to: uA, when: a}, {from: u0, to: u1, when: b}]}
"""


@pytest.mark.parametrize("height", [20, 22, 100])
def test_hierarchies_that_are_exponentially_large_flat_are_compared(hrm: Hrm, height: int) -> None:
    began = time.process_time()
    assert hrm("equivalent", f"exponential/{height}", f"exponential/{height}") == 0
    assert hrm.out == "equivalent on all labels\n"
    assert time.process_time() - began < 5


def test_a_trace_that_is_too_long_to_print_is_refused_with_its_length(hrm: Hrm) -> None:
    assert hrm("equivalent", "exponential/30", "exponential/31") == 2
    assert hrm.out == ""
    assert "has 1,073,741,824 labels" in hrm.err
    assert len(hrm.err.splitlines()) == 1


@pytest.mark.parametrize("command", ["check", "minimize", "flatten"])
@pytest.mark.parametrize(
    "text", [f'machines: {{m: {{edges: [{{from: u0, to: uA, when: "{CHAIN}"}}]}}}}', '{"' + '\\"' * 20_000]
)
def test_what_is_too_large_or_broken_is_refused_in_one_line(hrm: Hrm, tmp_path: Path, command: str, text: str) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(text)
    began = time.process_time()
    assert hrm(command, path) == 2
    assert time.process_time() - began < 5
    assert len(hrm.err.splitlines()) == 1
    assert "Traceback" not in hrm.err


def test_a_callee_that_only_its_context_makes_deterministic_is_minimized(hrm: Hrm, tmp_path: Path) -> None:
    path, smaller = tmp_path / "m.yaml", tmp_path / "smaller.yaml"
    path.write_text(CONTEXT)
    assert hrm("check", path) == 0
    assert hrm("minimize", path, "-o", smaller) == 0
    assert hrm("equivalent", path, smaller) == 0


def test_a_difference_of_very_many_labels_is_shown_in_short(hrm: Hrm) -> None:
    assert hrm("equivalent", "exponential/12", "exponential/14") == 1
    assert "a trace of 4,096 labels (--json prints it whole): {a} {b}" in hrm.out
    assert len(hrm.out) < 1_000
