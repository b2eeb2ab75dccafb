"""A bank of skills that does not fit: what differs is named before anything is trained."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agents.room_bank import CONFIG, train_with
from lhrm.toy import TOY
from rewardmachines.agents.bank.bank import Bank, BankInterface
from rewardmachines.agents.bank.task import task_with_bank
from rewardmachines.agents.registry import CRM
from rewardmachines.core.errors import RewardMachineError

pytestmark = pytest.mark.usefixtures("two_rooms_domain")


def test_names_in_a_task_are_propositions_machines_or_tasks_of_the_domain(bank: Bank) -> None:
    tree = task_with_bank(bank, TOY, "fetch ; press")
    assert tree["fetch"] == bank.hierarchy("fetch")["fetch"]
    assert "press" in {machine.name for machine in tree}
    assert task_with_bank(bank, TOY, "Fetch").root == "fetch"
    assert task_with_bank(bank, TOY, "all").root == "all"
    with pytest.raises(RewardMachineError, match="'fetsh' is neither a declared proposition nor a task; did you mean"):
        task_with_bank(bank, TOY, "fetsh ; k")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"propositions": ("k", "b", "lava")}, "propositions: only in the bank g; only there lava"),
        ({"propositions": ("b", "k", "g")}, "propositions: another order, k, b, g in the bank"),
        ({"actions": ("up", "down")}, "actions: only in the bank left, right"),
        ({"observation": "published"}, "observation: one-hot in the bank, published there"),
        ({"shape": (3, 7, 7)}, "observation shape: 20 in the bank, 3×7×7 there"),
    ],
)
def test_a_bank_says_what_differs_elsewhere(changes: dict[str, object], message: str, bank: Bank) -> None:
    elsewhere = replace(BankInterface.of(TOY, "one-hot"), **changes)  # type: ignore[arg-type]
    with pytest.raises(RewardMachineError, match="learned in two-rooms PLAIN and does not fit there") as problem:
        bank.check_interface(elsewhere, "there")
    assert message in str(problem.value)


def test_an_agent_must_have_the_networks_of_the_bank(bank: Bank, tmp_path: Path) -> None:
    wider = replace(bank.fitted(CONFIG), network=replace(CONFIG.network, hidden=(8,)))
    for options, message in (
        ({"settings": wider}, r"network is mlp with .* hidden \[\] there, not mlp .* hidden \[8\]"),
        ({"settings": replace(bank.fitted(CONFIG), lookahead=0.5)}, "do not look ahead"),
        ({"agent": "crm", "settings": None}, "a bank holds options"),
        ({"agent": "crm", "settings": CRM.settings(CONFIG)}, "a bank holds options"),
    ):
        with pytest.raises(RewardMachineError, match=message):
            train_with(bank, "k", tmp_path / "run", steps=1, **options)
    with pytest.raises(RewardMachineError, match="a run needs a bank that is in a folder: save it first"):
        train_with(replace(bank, path=None), "k", tmp_path / "run", steps=1)
    assert [path.name for path in tmp_path.iterdir()] == ["skills"]
