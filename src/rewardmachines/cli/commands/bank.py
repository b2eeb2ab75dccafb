"""The command `hrm bank`: what a run has learned becomes a bank of skills, which is listed, drawn and checked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import tyro

from rewardmachines.cli.device import prepare_device
from rewardmachines.cli.shared import Command, Flag, Output, console, log, plain_table, say, write_json
from rewardmachines.core.errors import RewardMachineError, TooLargeError
from rewardmachines.drawing import save_drawing
from rewardmachines.files.records import to_plain
from rewardmachines.files.writing import file_name

if TYPE_CHECKING:
    from rewardmachines.agents.bank.bank import Bank as Skills


@dataclass(frozen=True)
class Bank(Command):
    """Keep what a run of hrm learn has learned as a bank of skills, for new tasks.

    A bank holds the policies of formulas, and machines with the policies of their calls. It is a folder: networks
    (safetensors), machine files, and bank.json. Nothing in it runs code.

    Try:
      hrm bank save runs/learn-craftworld-op-0 -o skills
      hrm bank list skills
      hrm bank draw skills -o pictures
      hrm bank check skills
      hrm train "bucket ; sugarcane" --bank skills
      hrm learn --bank skills --tasks cake
    """

    loads: ClassVar[tuple[str, ...]] = ("rewardmachines.runs.run",)

    action: Annotated[Literal["save", "list", "draw", "check"], tyro.conf.Positional]
    """The action: save a run as a bank, list the content of a bank, draw its machines, or check its files."""
    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN|BANK")]
    """The folder of a run (save), or of a bank."""
    output: Output = None
    """The folder of the new bank (save), or of the pictures (draw)."""
    json: Flag = False
    """Print what list and check find as JSON."""

    def run(self) -> int:
        from rewardmachines.agents.bank.files import load_bank

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
        from rewardmachines.runs.banks import save_bank
        from rewardmachines.runs.run import open_run

        assert self.output is not None
        bank = save_bank(open_run(self.folder), self.output)
        log(f"wrote {self.output}: {_summary(bank)}")
        return 0

    def _check(self) -> int:
        """A line for each file; exit status 1 if something is wrong with any."""
        from rewardmachines.agents.bank.files import check_bank

        checks = check_bank(self.folder)
        if self.json:
            write_json([to_plain(check) for check in checks])
        else:
            for check in checks:
                end = "fine" if check.problem is None else check.problem
                say(f"{check.file}: {check.content}: {end}")
        return 0 if all(check.problem is None for check in checks) else 1

    def _list(self, bank: Skills) -> int:
        content = _described(bank)
        if self.json:
            write_json(content)
            return 0
        see, sizes = bank.interface, bank.sizes
        say(f"{bank.domain} {bank.setting.upper()}: {_summary(bank)}")
        say(f"propositions: {', '.join(see.propositions)}")
        say(f"actions: {', '.join(see.actions)}")
        say(f"observation: {see.observation}, {'×'.join(map(str, see.shape))}")
        say(f"networks: {sizes.layout.value}, {sizes.network.body.value}, hidden {list(sizes.network.hidden)}")
        say(f"formulas: {', '.join(map(str, bank.formulas))}")
        rows = (
            (one["name"], *(str(one[name]) for name in ("height", "states", "edges")), f"{one['mean_return']:.2f}",
             ", ".join(one["calls"]))
            for one in content["machines"]
        )  # fmt: skip
        names = ("machine", "height", "states", "edges", "return", "calls")
        console().print(plain_table(names, rows, left=("machine", "calls")))
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
                log(f"{name}: {problem}")
            else:
                log(f"wrote {path}")
        return 0


def _summary(bank: Skills) -> str:
    policies = len(set(bank.formulas.values()))
    return f"{len(bank.names)} machines, {policies} policies of formulas"


def _described(bank: Skills) -> dict[str, Any]:
    """The content of a bank, without its networks, as JSON can hold it."""
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
