"""Numbers on the command line are read as people write them, and help speaks of them in words."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.commands import Hrm
from rewardmachines.cli.commands import COMMANDS
from rewardmachines.cli.numbers import read_budget, read_number, read_whole
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.runs.stopping import RunBudget

RAW = re.compile(
    r"\{None|\bNone\b|\|(INT|FLOAT|STR|PATH)|\b(INT|FLOAT|STR)\b|<class|typing\.|no type matching|instantiated"
)


@given(st.integers(-(10**30), 10**30))
def test_a_number_is_read_however_it_is_grouped(number: int) -> None:
    for text in (str(number), f"{number:_}", f"{number:,}", f" {number} ", f"{number}e0", f"{number}.0"):
        assert read_whole(text) == number
    assert read_whole(f"{number}e3") == read_whole(f"{number}k") == 1000 * number
    assert read_whole(f"{number}M") == 10**6 * number


@given(st.integers(0, 10**9), st.integers(1, 999))
def test_what_is_not_whole_is_refused(number: int, thousandths: int) -> None:
    text = f"{number}.{thousandths:03}"
    assert read_whole(f"{text}e3") == 1000 * number + thousandths
    with pytest.raises(ValueError, match="is not a whole number, such as"):
        read_whole(text)


@pytest.mark.parametrize("text", ["", "q", "1,5", "1,00", "1__0", "_1", "1e", "1e-3", "2m", "1 000", "nan", "٣"])
def test_no_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a whole number, such as"):
        read_whole(text)


@pytest.mark.parametrize("text", ["", "q", "nan", "0.9.5", "95%"])
def test_no_number_with_a_point_is_refused_either(text: str) -> None:
    with pytest.raises(ValueError, match="is not a number, such as"):
        read_number(text)


@pytest.mark.parametrize("text", ["9" * 101, "1e100", "1e999"])
def test_numbers_that_nobody_means_are_not_computed(text: str) -> None:
    with pytest.raises(ValueError, match="more than 100 digits"):
        read_whole(text)


@pytest.mark.parametrize("text", ["1000000", "1_000_000", "1,000,000", "1e6", "1E6", "1M", "1000k"])
def test_a_budget_is_a_number_of_steps(text: str) -> None:
    assert read_budget(text) == RunBudget(steps=1_000_000)


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("2m", 120), ("30 m", 1800), ("1.5h", 5400)])
def test_or_a_time_with_its_unit(text: str, seconds: float) -> None:
    assert read_budget(text) == RunBudget(seconds=seconds)


@pytest.mark.parametrize("text", ["", "h", "-5", "0", "1.5", "2d", "5 apples", "0s", "1e-6", "1.5e0", "0e6", "1m30s"])
def test_other_budgets_are_refused(text: str) -> None:
    with pytest.raises(RewardMachineError, match="write a number of steps"):
        read_budget(text)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_no_types_of_python(hrm: Hrm, command: str) -> None:
    assert hrm(command, "--help") == 0
    assert RAW.search(hrm.out) is None, RAW.search(hrm.out)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("train craftworld cake --steps 1.5", "hrm train: --steps: '1.5' is not a whole number, such as"),
        ("train craftworld cake --steps many", "hrm train: --steps: 'many' is not a whole number, such as"),
        ("train craftworld --stop-at 95%", "hrm train: --stop-at: '95%' is not a number, such as 0.95; see"),
        ("learn craftworld --episodes None", "hrm learn: --episodes: 'None' is not a whole number, such as"),
        ("study run smoke --jobs two", "hrm study: --jobs: 'two' is not a whole number, such as"),
        ("study run smoke --device tpu", "hrm study: --device is one of cpu, gpu, not 'tpu'; did you mean 'gpu'?"),
        ("learn craftworld --explore all", "hrm learn: --explore is one of "),
    ],
)
def test_errors_have_none_either(hrm: Hrm, words: str, message: str) -> None:
    assert hrm(*words.split()) == 2
    assert hrm.err.startswith(message)
    assert hrm.err.count("\n") == 1
    assert RAW.search(hrm.err.replace("'None'", "")) is None
