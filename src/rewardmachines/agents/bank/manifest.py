"""The manifest of a bank: everything but its networks and machines, as JSON, with a checksum for each other file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rewardmachines.agents.bank.bank import Bank, BankInterface, Change, NetworkSizes
from rewardmachines.core.errors import RewardMachineError, SyntaxProblem
from rewardmachines.core.formula import Conjunction
from rewardmachines.files.document import parse_json, read_text
from rewardmachines.files.records import from_plain, to_plain

FORMAT: Final = 1
"""The format of banks. It grows with every change that older versions do not know."""
NAME: Final = "bank.json"
"""The name of the manifest. A folder with this file is a bank."""


@dataclass(frozen=True)
class ChangeRecord:
    """A formula, or a label."""

    required: tuple[str, ...]
    """The propositions that the formula requires, or those of the label."""
    forbidden: tuple[str, ...] | None
    """The propositions that the formula forbids; None for a label."""

    @staticmethod
    def of(change: Change) -> ChangeRecord:
        """The record of a formula or a label."""
        if isinstance(change, Conjunction):
            return ChangeRecord(tuple(sorted(change.required)), tuple(sorted(change.forbidden)))
        return ChangeRecord(tuple(sorted(change)), None)

    def change(self) -> Change:
        """The formula, or the label."""
        return frozenset(self.required) if self.forbidden is None else self.formula()

    def formula(self) -> Conjunction:
        """The formula."""
        return Conjunction(frozenset(self.required), frozenset(self.forbidden or ()))


@dataclass(frozen=True)
class FormulaRecord:
    """A formula and the number of its Q-function."""

    required: tuple[str, ...]
    forbidden: tuple[str, ...]
    slot: int


@dataclass(frozen=True)
class MachineRecord:
    """A machine: its name, the mean return of its task, and the checksum of its file."""

    name: str
    mean_return: float
    sha256: str


@dataclass(frozen=True)
class Maker:
    """The origin of the bank, for human readers; no program depends on it."""

    rewardmachines: str
    jax: str
    device: str
    date: str


@dataclass(frozen=True)
class Manifest:
    """The content of the manifest, without its format."""

    made_by: Maker
    domain: str
    setting: str
    interface: BankInterface
    sizes: NetworkSizes
    sha256: str
    """The checksum of the file of networks."""
    formulas: tuple[FormulaRecord, ...]
    changes: tuple[ChangeRecord, ...]
    fatal: tuple[tuple[str, ...], ...]
    contexts: tuple[ChangeRecord, ...]
    machines: tuple[MachineRecord, ...]


def manifest_text(bank: Bank, made_by: Maker, networks: str, machines: dict[str, str]) -> str:
    """The text of the manifest of a bank.

    Args:
        bank: The bank.
        made_by: The origin of the bank.
        networks: The checksum of the file of networks.
        machines: The checksums of machine files, by the names of machines.
    """
    formulas = (
        FormulaRecord(tuple(sorted(formula.required)), tuple(sorted(formula.forbidden)), slot)
        for formula, slot in bank.formulas.items()
    )
    manifest = Manifest(
        made_by=made_by,
        domain=bank.domain,
        setting=bank.setting,
        interface=bank.interface,
        sizes=bank.sizes,
        sha256=networks,
        formulas=tuple(formulas),
        changes=tuple(map(ChangeRecord.of, bank.changes)),
        fatal=tuple(sorted(tuple(sorted(label)) for label in bank.fatal)),
        contexts=tuple(map(ChangeRecord.of, bank.contexts)),
        machines=tuple(MachineRecord(name, bank.returns[name], machines[name]) for name in bank.names),
    )
    return json.dumps({"format": FORMAT, **to_plain(manifest)}, indent=1) + "\n"


def read_manifest(path: Path) -> Manifest:
    """Reads the manifest of a bank.

    Args:
        path: The folder of the bank.

    Raises:
        RewardMachineError: There is no bank, or it is of another format, or the manifest is damaged.
    """
    file = path / NAME
    if not file.is_file():
        raise RewardMachineError(f"{path}: there is no bank (no {NAME}); hrm bank save RUN -o {path} makes one")
    content = _content(file)
    version = content.pop("format", None)
    if type(version) is not int or version != FORMAT:
        raise RewardMachineError(f"{path}: a bank of format {version}; this version knows format {FORMAT}")
    manifest: Manifest = from_plain(Manifest, content, str(file))
    _check(manifest, str(file))
    return manifest


def _content(file: Path) -> dict[str, Any]:
    content = parse_json(read_text(file), str(file))
    if not isinstance(content, dict):
        raise SyntaxProblem(f"{file}: damaged, this is not the manifest of a bank")
    return content


def _check(manifest: Manifest, where: str) -> None:
    """Checks that numbers lie within the sizes, and that formulas speak of known propositions."""
    sizes, known = manifest.sizes, {*manifest.interface.propositions}
    if min(sizes.slots, sizes.states, sizes.outputs) < 1 or max(sizes.slots, sizes.states, sizes.outputs) > 2**16:
        raise SyntaxProblem(f"{where}: damaged, sizes are between 1 and {2**16}")
    if not manifest.machines or len({record.name for record in manifest.machines}) != len(manifest.machines):
        raise SyntaxProblem(f"{where}: damaged, there must be machines, each with a name of its own")
    for record in manifest.formulas:
        if not 0 <= record.slot < sizes.slots:
            raise SyntaxProblem(f"{where}: damaged, there is no Q-function {record.slot}")
    spoken: list[FormulaRecord | ChangeRecord] = [*manifest.formulas, *manifest.changes, *manifest.contexts]
    for either in spoken:
        if unknown := sorted({*either.required, *(either.forbidden or ())} - known):
            raise SyntaxProblem(f"{where}: damaged, '{unknown[0]}' is not among its propositions")
