"""Makes a bank of skills of what a run has learned."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np

from rewardmachines.agents.bank.bank import Bank, Interface, Networks, NetworkSizes
from rewardmachines.agents.bank.files import load_bank, write_bank
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Conjunction
from rewardmachines.files import dumps, loads
from rewardmachines.lhrm.policies import RunPolicies
from rewardmachines.lhrm.run import LearnRun, load_learning


def save_bank(run: str | Path | LearnRun, path: str | Path) -> Bank:
    """Saves what a run of `learn` has learned as a bank of skills: its policies of formulas, and its machines.

    Args:
        run: The run, or its folder.
        path: The folder of the bank, which must not exist, or be empty.

    Returns:
        The bank as it is on disk.

    Raises:
        RewardMachineError: There is no such run, it has learned nothing yet, or there is something at the path.
    """
    learned = run if isinstance(run, LearnRun) else load_learning(run)
    write_bank(bank_of(learned), Path(path))
    return load_bank(path)


def bank_of(run: LearnRun) -> Bank:
    """What a run has learned, as a bank that is not on disk yet.

    Raises:
        RewardMachineError: The run has no machines or no policies yet.
    """
    policies = run.policies()
    lhrm, written = policies.run, policies.written
    known = {**{machine.name: machine for machine in lhrm.pool.given}, **lhrm.pool.learned}
    names = [machine.name for machine in lhrm.pool.machines if machine.name in known]
    if not lhrm.pool.learned:
        raise RewardMachineError(f"{run.folder}: there is nothing to save: no machine has been learned yet")
    whole = lhrm.pool.hierarchy(names[-1])
    if any(loads(dumps(whole.rooted(name)))[name] != whole[name] for name in names):
        raise RewardMachineError(f"{run.folder}: a machine cannot be written to a file as it is")
    config, scenario = run.spec.config.agent, policies.scenario
    rows = np.array([written.lowered.machines.index(name) for name in names])
    returns = {**(run.bank.returns if run.bank is not None else {}), **run.returns()}
    return Bank(
        domain=run.spec.domain,
        setting=run.spec.setting,
        interface=Interface.of(scenario, config.observation),
        sizes=NetworkSizes(
            layout=config.layout,
            network=config.network,
            call_network=config.call_network,
            slots=lhrm.registry.option_room.slots,
            states=lhrm.registry.room.states,
            outputs=lhrm.registry.option_room.outputs,
        ),
        formulas=_formulas(policies),
        changes=tuple(lhrm.registry.changes),
        fatal=lhrm.registry.fatal,
        contexts=written.menu.contexts,
        machines=tuple(known[name] for name in names),
        returns={name: returns[name] for name in names},
        digest="",
        networks=Networks(
            formulas=policies.agent.formulas.online,
            calls=jax.tree.map(lambda x: np.asarray(x)[rows], policies.agent.calls.online),
        ),
    )


def _formulas(policies: RunPolicies) -> dict[Conjunction, int]:
    """The Q-function of each formula, those that share one with others included."""
    registry = policies.run.registry
    return {formula: registry.slots[registry.tree.root_of(formula)] for formula in registry.tree}
