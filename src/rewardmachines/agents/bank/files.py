"""Banks on disk: a folder with a manifest, a file of networks and a file for each machine. Nothing in it runs code."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import jax
import numpy as np

from rewardmachines.agents.bank import manifest as manifests
from rewardmachines.agents.bank.bank import Bank, Networks
from rewardmachines.agents.bank.manifest import FormulaRecord, Maker, Manifest, manifest_text, read_manifest
from rewardmachines.agents.config import Layout
from rewardmachines.agents.hierarchical_dqn.config import CallConfig, HierarchicalDqnConfig
from rewardmachines.agents.hierarchical_dqn.formula_q import fresh_networks
from rewardmachines.agents.networks import Body, Network, NetworkConfig, features, stacked
from rewardmachines.agents.tensors import Arrays, pack, read_arrays, unpack, write_arrays
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Conjunction
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import RewardMachine
from rewardmachines.files import dumps, folder_aside, load
from rewardmachines.files.writing import file_name

NETWORKS: Final = "networks.safetensors"
"""The name of the file of networks."""
FORMULAS: Final = "formulas"
"""The first part of the names of all networks of formulas."""
CALLS: Final = "calls"
"""The first part of the names of all networks of machines."""


def machine_file(path: Path, name: str) -> Path:
    """The machine file of a machine in the folder of a bank."""
    return path / _relative(name)


def _relative(name: str) -> str:
    return f"machines/{file_name(name)}.yaml"


# -- writing


def write_bank(bank: Bank, path: Path, made_by: Mapping[str, str]) -> None:
    """Writes a bank to a new folder, atomically: into a temporary folder that is then renamed.

    Args:
        bank: The bank.
        path: The folder, which must not exist, or be empty.
        made_by: The record of what made the bank, with the fields of `Maker`.

    Raises:
        RewardMachineError: The folder exists and is not empty.
    """
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        what = "a bank" if (path / manifests.NAME).exists() else "something"
        raise RewardMachineError(f"{path}: there is {what} already; choose another folder")
    with folder_aside(path) as aside:
        _write_files(bank, aside, Maker(**made_by))


def _write_files(bank: Bank, folder: Path, made_by: Maker) -> None:
    networks = {**pack(bank.networks.formulas, FORMULAS), **pack(bank.networks.calls, CALLS)}
    write_arrays(folder / NETWORKS, networks, {"format": manifests.FORMAT})
    machine_file(folder, "").parent.mkdir()
    sums = {}
    for name in bank.names:
        file = machine_file(folder, name)
        file.write_text(dumps(bank.hierarchy(name)), encoding="utf-8")
        sums[name] = _checksum(file)
    text = manifest_text(bank, made_by, _checksum(folder / NETWORKS), sums)
    (folder / manifests.NAME).write_text(text, encoding="utf-8")


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# -- reading


def load_bank(path: str | Path) -> Bank:
    """Reads a bank of skills.

    Args:
        path: The folder of the bank.

    Raises:
        RewardMachineError: There is no bank, or it is damaged or of another format.
    """
    folder = Path(path)
    manifest = read_manifest(folder)
    machines = tuple(_machine(folder, manifest, record.name) for record in manifest.machines)
    whole = Hierarchy(machines[-1].name, machines, manifest.interface.propositions)
    for record in manifest.machines:  # the callees of a machine come from files of their own
        if load(machine_file(folder, record.name)) != whole.rooted(record.name):
            raise RewardMachineError(f"{machine_file(folder, record.name)}: damaged, other files have other machines")
    return Bank(
        domain=manifest.domain,
        setting=manifest.setting,
        interface=manifest.interface,
        sizes=manifest.sizes,
        formulas={_formula(record): record.slot for record in manifest.formulas},
        changes=tuple(record.change() for record in manifest.changes),
        fatal=frozenset(map(frozenset, manifest.fatal)),
        contexts=tuple(record.formula() for record in manifest.contexts),
        machines=machines,
        returns={record.name: record.mean_return for record in manifest.machines},
        digest=_checksum(folder / manifests.NAME),
        networks=_networks(folder, manifest),
        path=folder,
    )


def any_bank(bank: Bank | str | Path | None) -> Bank | None:
    """The bank itself, or the bank in a folder."""
    return load_bank(bank) if isinstance(bank, (str, Path)) else bank


# -- copies in the folders of runs


def copy_bank(bank: Bank, path: Path) -> None:
    """Copies the files of a bank, so that a run is complete without it. An existing copy is kept.

    Args:
        bank: A bank that was read from a folder.
        path: The folder of the copy.

    Raises:
        RewardMachineError: The bank was not read from a folder, or has changed since, or another one is there.
    """
    if path.exists():
        if load_bank(path).digest != bank.digest:
            raise RewardMachineError(f"{path}: another bank of skills is there already; choose another folder")
        return
    if bank.path is None:
        raise RewardMachineError("a run needs a bank that is in a folder: save it first")
    files = [manifests.NAME, NETWORKS, *(_relative(name) for name in bank.names)]
    with folder_aside(path) as aside:
        machine_file(aside, "").parent.mkdir()
        for name in files:
            shutil.copyfile(bank.path / name, aside / name)
        if _checksum(aside / manifests.NAME) != bank.digest:
            raise RewardMachineError(f"{bank.path}: the bank has changed since it was read")


def bank_of_run(path: Path, digest: str) -> Bank:
    """Reads the copy of a bank in the folder of a run.

    Args:
        path: The folder of the copy.
        digest: The digest of the bank that the run was begun with.

    Raises:
        RewardMachineError: The copy is missing or damaged, or that of another bank.
    """
    bank = load_bank(path)
    if bank.digest != digest:
        raise RewardMachineError(f"{path}: this is not the bank that the run was begun with")
    return bank


def _formula(record: FormulaRecord) -> Conjunction:
    return Conjunction(frozenset(record.required), frozenset(record.forbidden))


def _machine(folder: Path, manifest: Manifest, name: str) -> RewardMachine:
    """Reads one machine, and checks that its networks have room for it."""
    file = machine_file(folder, name)
    _check_sum(file, next(record.sha256 for record in manifest.machines if record.name == name))
    machine = load(file)[name]
    outputs = len({(edge.callee, disjunct) for edge in machine.edges for disjunct in edge.formula.ordered()})
    if len(machine.states) > manifest.sizes.states or outputs > manifest.sizes.outputs:
        raise RewardMachineError(f"{file}: damaged, the networks have no room for its states or edges")
    return machine


def _check_sum(file: Path, expected: str) -> None:
    if not file.is_file():
        raise RewardMachineError(f"{file}: this file of the bank is missing")
    if _checksum(file) != expected:
        raise RewardMachineError(f"{file}: damaged, it is not as it was written (its checksum differs)")


def _networks(folder: Path, manifest: Manifest) -> Networks:
    """Reads all networks, and checks their shapes."""
    file = folder / NETWORKS
    _check_sum(file, manifest.sha256)
    arrays: Arrays = read_arrays(file)[0]
    formulas, calls = _network_shapes(manifest, sum(array.size for array in arrays.values()), str(file))
    return Networks(unpack(formulas, arrays, FORMULAS, str(file)), unpack(calls, arrays, CALLS, str(file)))


def _network_shapes(manifest: Manifest, numbers: int, where: str) -> tuple[Any, Any]:
    """The shapes of the networks of formulas, and of those of machines.

    Args:
        manifest: The manifest, with the architecture.
        numbers: The number of weights in the file of networks.
        where: The text with which error messages begin.

    Raises:
        RewardMachineError: There are no such networks, or they have another number of weights. Networks are made to
            know their shapes, and a damaged manifest may ask for more than there is memory for.
    """
    sizes, interface, actions = manifest.sizes, manifest.interface, len(manifest.interface.actions)
    extra = sizes.states + len(interface.propositions)
    outputs, copies = (sizes.slots * actions, 1) if sizes.layout is Layout.SHARED else (actions, sizes.slots)
    wanted = copies * _parameters(sizes.network, interface.shape, 0, outputs, where)
    wanted += len(manifest.machines) * _parameters(sizes.call_network, interface.shape, extra, sizes.outputs, where)
    if wanted != numbers:
        raise RewardMachineError(f"{where}: damaged, or of another version: {numbers:,} numbers, not {wanted:,}")
    config = HierarchicalDqnConfig(layout=sizes.layout, network=sizes.network, calls=CallConfig(sizes.call_network))

    def make() -> tuple[Any, Any]:
        chance = np.random.default_rng(0)
        calls = [Network(sizes.call_network, interface.shape, extra, sizes.outputs, chance) for _ in manifest.machines]
        return fresh_networks(config, sizes.slots, interface.shape, actions, chance), stacked(calls)

    shapes: tuple[Any, Any] = jax.eval_shape(make)
    return shapes


def _parameters(config: NetworkConfig, shape: tuple[int, ...], extra: int, outputs: int, where: str) -> int:
    """The number of weights and biases of a network."""
    has_filters = config.body in (Body.CNN, Body.POOLED_CNN)
    known = (*shape, *config.hidden, outputs, *(config.filters if has_filters else ()))
    if min(known) < 1 or (has_filters and (len(shape) != 3 or not config.filters)):
        raise RewardMachineError(f"{where}: damaged, there are no networks of such sizes")
    if (inputs := features(config, shape) + extra) < 1:
        raise RewardMachineError(f"{where}: damaged, observations are too small for its filters")
    body = sum(4 * i * o + o for i, o in pairwise((shape[0], *config.filters))) if has_filters else 0
    return body + sum(i * o + o for i, o in pairwise((inputs, *config.hidden, outputs)))


# -- checking


@dataclass(frozen=True)
class FileCheck:
    """The result of checking a file of a bank."""

    file: str
    """The name of the file within the bank."""
    content: str
    """The content of the file, in words."""
    problem: str | None
    """The problem with the file; None if there is none."""


def check_bank(path: str | Path) -> list[FileCheck]:
    """Checks all files of a bank: whether they are there, whole, and fit each other.

    Args:
        path: The folder of the bank.

    Raises:
        RewardMachineError: There is no bank, or it is of another format.
    """
    folder = Path(path)
    manifest = read_manifest(folder)
    made_by = manifest.made_by
    about = f"format {manifests.FORMAT}, rewardmachines {made_by.rewardmachines}, JAX {made_by.jax}, {made_by.date}"
    checks = [FileCheck(manifests.NAME, about, None), _check(folder, NETWORKS, _networks_text(manifest), manifest)]
    for record in manifest.machines:
        name = machine_file(folder, record.name).relative_to(folder).as_posix()
        checks.append(_check(folder, name, f"machine {record.name}", manifest, record.name))
    if all(check.problem is None for check in checks):
        try:
            load_bank(folder)
        except RewardMachineError as problem:  # files that are whole, but do not fit each other
            checks[0] = FileCheck(manifests.NAME, about, str(problem))
    return checks


def _check(folder: Path, name: str, about: str, manifest: Manifest, machine: str | None = None) -> FileCheck:
    try:
        if machine is None:
            _networks(folder, manifest)
        else:
            _machine(folder, manifest, machine)
    except RewardMachineError as problem:
        return FileCheck(name, about, str(problem).removeprefix(f"{folder / name}: "))
    return FileCheck(name, about, None)


def _networks_text(manifest: Manifest) -> str:
    formulas = {record.slot for record in manifest.formulas}
    return f"{len(formulas)} policies of formulas, {len(manifest.machines)} of machines, {manifest.sizes.layout.value}"
