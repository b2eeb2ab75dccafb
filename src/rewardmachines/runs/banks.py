"""Banks of skills of what runs have learned."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np

from rewardmachines.agents.bank.bank import Bank, BankInterface, Networks, NetworkSizes
from rewardmachines.agents.bank.files import load_bank, write_bank
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.files import dumps, loads
from rewardmachines.runs.maker import this_maker
from rewardmachines.runs.run import Run


def save_bank(run: str | Path | Run, path: str | Path) -> Bank:
    """Saves what a run of `learn` in a domain has learned as a bank of skills: its policies of formulas, its machines.

    Args:
        run: The run, or its folder.
        path: The folder of the bank, which must not exist, or be empty.

    Returns:
        The bank as it is on disk.

    Raises:
        RewardMachineError: There is no such run, it has learned nothing yet, or there is something at the path.
    """
    write_bank(bank_of(run if isinstance(run, Run) else Run(run)), Path(path), this_maker())
    return load_bank(path)


def bank_of(run: Run) -> Bank:
    """The skills that a run has learned, as a bank that is not on disk yet.

    Raises:
        RewardMachineError: The run has no machines or no policies yet, or none that a bank can hold.
    """
    if run.config.domain is None or not run.config.learns_machines:
        raise RewardMachineError(f"{run.folder}: banks of skills come of runs that learn machines in a domain")
    session, learned = run.learned()
    lhrm, scenario, config = session.lhrm, session.scenario, run.config.agent_settings
    assert lhrm is not None
    assert scenario is not None
    if not lhrm.pool.learned:
        raise RewardMachineError(f"{run.folder}: there is nothing to save: no machine has been learned yet")
    known = {**{machine.name: machine for machine in lhrm.pool.given}, **lhrm.pool.learned}
    names = [machine.name for machine in lhrm.pool.machines if machine.name in known]
    whole = lhrm.pool.hierarchy(names[-1])
    if any(loads(dumps(whole.rooted(name)))[name] != whole[name] for name in names):
        raise RewardMachineError(f"{run.folder}: a machine cannot be written to a file as it is")
    registry, written = lhrm.registry, lhrm.written
    rows = np.array([written.lowered.machines.index(name) for name in names])
    returns = {**(run.bank.returns if run.bank is not None else {}), **run.returns}
    return Bank(
        domain=run.config.domain.domain,
        setting=run.config.domain.setting,
        interface=BankInterface.of(scenario, config.observation),
        sizes=NetworkSizes(
            layout=config.layout,
            network=config.network,
            call_network=config.calls.network,
            slots=registry.option_room.slots,
            states=registry.room.states,
            outputs=registry.option_room.outputs,
        ),
        formulas={formula: registry.slots[registry.tree.root_of(formula)] for formula in registry.tree},
        changes=tuple(registry.changes),
        fatal=registry.fatal,
        contexts=written.option_set.contexts,
        machines=tuple(known[name] for name in names),
        returns={name: returns[name] for name in names},
        digest="",
        networks=Networks(
            formulas=learned.formulas.online,
            calls=jax.tree.map(lambda x: np.asarray(x)[rows], learned.calls.online),
        ),
    )
