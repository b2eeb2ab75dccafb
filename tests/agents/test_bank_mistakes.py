"""A bank of skills that does not fit: what differs is named before anything is trained."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import rewardmachines as rm
from agents.room_bank import room_spec
from lhrm.toy import TOY
from rewardmachines.agents.bank.bank import Bank, Interface
from rewardmachines.agents.bank.task import task_with_bank
from rewardmachines.agents.config import Algorithm
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
    elsewhere = replace(Interface.of(TOY, "one-hot"), **changes)  # type: ignore[arg-type]
    with pytest.raises(RewardMachineError, match="learned in two-rooms PLAIN and does not fit there") as problem:
        bank.check_interface(elsewhere, "there")
    assert message in str(problem.value)


def test_an_agent_must_have_the_networks_of_the_bank(bank: Bank, tmp_path: Path) -> None:
    spec = room_spec(bank, "k")
    wider = replace(spec.config, network=replace(spec.config.network, hidden=(8,)))
    with pytest.raises(RewardMachineError, match=r"network is mlp with .* hidden \[\] there, not mlp .* hidden \[8\]"):
        rm.train(tmp_path / "a", replace(spec, config=wider), steps=1, bank=bank)
    with pytest.raises(RewardMachineError, match="the spec asks for a bank of skills"):
        rm.train(tmp_path / "b", spec, steps=1)
    with pytest.raises(RewardMachineError, match="the spec asks for another bank"):
        rm.train(tmp_path / "c", replace(spec, bank="0"), steps=1, bank=bank)
    crm = rm.standard_spec("two-rooms", "plain", "fetch", Algorithm.CRM)
    with pytest.raises(RewardMachineError, match="a bank holds options"):
        rm.train(tmp_path / "d", crm, steps=1, bank=bank)
    with pytest.raises(RewardMachineError, match="no bank of skills to be trained further"):
        replace(crm, trains_bank=True)
    assert [path.name for path in tmp_path.iterdir()] == ["skills"]
