"""The command `hrm bank`: what a run has learned becomes a bank of skills, which is listed, drawn and checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rich.table import Table

from rewardmachines.agents.bank.bank import Bank as Skills
from rewardmachines.agents.bank.files import check_bank, load_bank
from rewardmachines.cli.arguments.bank import BankArguments
from rewardmachines.cli.run_options import prepare_device
from rewardmachines.cli.shared import Command, console, say, tell, write_json
from rewardmachines.core.errors import RewardMachineError, TooLargeError
from rewardmachines.drawing import save_drawing
from rewardmachines.lhrm.saved_bank import save_bank
from rewardmachines.runs.folder import file_name
from rewardmachines.runs.records import to_plain


@dataclass(frozen=True)
class Bank(BankArguments, Command):
    """Keep what a run of hrm learn has learned as a bank of skills, for new tasks."""

    def run(self) -> int:
        if (self.output is None) == (self.action in ("save", "draw")):
            raise RewardMachineError(
                f"hrm bank {self.action}: say where to write, -o FOLDER" if self.output is None
                else f"hrm bank {self.action} writes nothing: leave out -o"
            )  # fmt: skip
        if self.action == "check":
            return self._check()
        prepare_device()
        if self.action == "save":
            return self._save()
        bank = load_bank(self.folder)
        return self._list(bank) if self.action == "list" else self._draw(bank)

    def _save(self) -> int:
        assert self.output is not None
        bank = save_bank(self.folder, self.output)
        tell(f"wrote {self.output}: {_summary(bank)}")
        return 0

    def _check(self) -> int:
        """A line for each file; exit status 1 if something is wrong with any."""
        checks = check_bank(self.folder)
        if self.json:
            write_json([to_plain(check) for check in checks])
        else:
            for check in checks:
                end = "fine" if check.problem is None else check.problem
                say(f"{check.file}: {check.content}: {end}")
        return 0 if all(check.problem is None for check in checks) else 1

    def _list(self, bank: Skills) -> int:
        if self.json:
            write_json(_plain(bank))
            return 0
        see, sizes = bank.interface, bank.sizes
        shape = "×".join(map(str, see.shape))
        say(f"{bank.domain} {bank.setting.upper()}: {_summary(bank)}")
        say(f"propositions: {', '.join(see.propositions)}")
        say(f"actions: {', '.join(see.actions)}")
        say(f"observation: {see.observation}, {shape}")
        say(f"networks: {sizes.layout.value}, {sizes.network.body.value}, hidden {list(sizes.network.hidden)}")
        say(f"formulas: {', '.join(map(str, bank.formulas))}")
        console().print(_table(bank))
        return 0

    def _draw(self, bank: Skills) -> int:
        """Draws the hierarchy of every machine: itself, and what it calls."""
        assert self.output is not None
        self.output.mkdir(parents=True, exist_ok=True)
        for name in bank.names:
            path = self.output / f"{file_name(name)}.svg"
            try:
                save_drawing(bank.hierarchy(name), path)
            except TooLargeError as problem:
                tell(f"{name}: {problem}")
            else:
                tell(f"wrote {path}")
        return 0


def _summary(bank: Skills) -> str:
    policies = len(set(bank.formulas.values()))
    return f"{len(bank.names)} machines, {policies} policies of formulas"


def _table(bank: Skills) -> Table:
    """A row for each machine."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("machine", "height", "states", "edges", "return", "calls"):
        table.add_column(name, justify="left" if name in ("machine", "calls") else "right")
    whole = bank.hierarchy()
    for machine in bank.machines:
        table.add_row(
            machine.name,
            str(whole.heights[machine.name]),
            str(len(machine.states)),
            str(len(machine.edges)),
            f"{bank.returns[machine.name]:.2f}",
            ", ".join(sorted(machine.callees)),
        )
    return table


def _plain(bank: Skills) -> dict[str, Any]:
    """What a bank holds, without its networks, as JSON can hold it."""
    whole = bank.hierarchy()
    return {
        "domain": bank.domain,
        "setting": bank.setting,
        "digest": bank.digest,
        "interface": to_plain(bank.interface),
        "sizes": to_plain(bank.sizes),
        "formulas": {str(formula): slot for formula, slot in bank.formulas.items()},
        "machines": [
            {
                "name": machine.name,
                "height": whole.heights[machine.name],
                "states": len(machine.states),
                "edges": len(machine.edges),
                "calls": sorted(machine.callees),
                "mean_return": bank.returns[machine.name],
            }
            for machine in bank.machines
        ],
    }
