"""The claims of the paper, as data: what is claimed, where, and how evidence is judged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import suggestion
from rewardmachines.experiments.cells import Table
from rewardmachines.experiments.findings import Claim, Finding, found
from rewardmachines.experiments.flat_claims import (
    faster_with_calls,
    in_time,
    large_machines,
    never_learned,
    same_machine,
)
from rewardmachines.experiments.machine_claims import (
    CRAFTWORLD,
    WATERWORLD,
    alike,
    dead_ends_take_longer,
    decays,
    exponential_sizes,
    only_found,
    options_help,
    options_help_little,
    restricted,
    single_trace,
    waterworld_is_faster,
)
from rewardmachines.experiments.paper_evidence import PaperEvidence
from rewardmachines.experiments.policy_claims import ALIKE, crm_close, flat_first, hierarchy_first
from rewardmachines.experiments.results import Result
from rewardmachines.experiments.run_evidence import RunEvidence
from rewardmachines.experiments.tables import WITHOUT_CALLS

_NOT_FLAT: Final = ("book", "book-quill", "cake", "rg&bc", "rgb&cmy")
_MINUTES: Final = 300.0
"""A few minutes, in seconds."""
_SECONDS: Final = 60.0
"""A few seconds, at most."""


def findings(names: Sequence[str], results: Sequence[Result]) -> list[Finding]:
    """What the results say of some claims.

    Args:
        names: Names in `CLAIMS`.
        results: All results that there are.

    Raises:
        RewardMachineError: There is no such claim.
    """
    check_claims(names)
    ours, paper = RunEvidence(results), PaperEvidence()
    return [found(CLAIMS[name], ours, paper) for name in names]


def check_claims(names: Iterable[str]) -> None:
    """Says which claim does not exist, if one of them does not.

    Raises:
        RewardMachineError: There is no such claim.
    """
    for name in names:
        if name not in CLAIMS:
            hint = suggestion(name, CLAIMS) or f"; there are {', '.join(CLAIMS)}"
            raise RewardMachineError(f"there is no claim '{name}'{hint}")


def claims_table(names: Sequence[str], results: Sequence[Result]) -> Table:
    """The same as a table."""
    rows = tuple((f.claim, f.where, f.paper, f.ours, f.verdict, f.remark) for f in findings(names, results))
    header = ("claim", "section", "paper", "ours", "verdict", "why, or what is missing")
    return Table("The claims of the paper", header, rows)


def _hierarchy_first(whose: str) -> str:
    return (
        f"In FRL {whose} hierarchy learns before {whose} flat machine, but for {ALIKE} where they are alike, and both "
        "learn before CRM (episodes to a return of 0.9)"
    )


CLAIMS: Final[dict[str, Claim]] = {
    "theorem-2": Claim(
        "Flattening a family of hierarchies of height h with 3h states and 2h edges gives 2^h + 1 states and 2^h edges",
        "3", exponential_sizes, "Theorem 2",
    ),
    "dead-ends": Claim("Learning machines takes longer with dead ends", "6.1", dead_ends_take_longer),
    "op-frl-alike": Claim(
        "Learning machines in OP and FRL takes times that are close (at most 1.5 times as long)",
        "6.1", alike("op", "frl", 1.5),
    ),
    "waterworld-faster": Claim(
        "Learning machines is faster in WaterWorld than in CraftWorld", "6.1", waterworld_is_faster
    ),
    "restricted-time": Claim(
        "Restricted callables make learning machines 5 to 7 times faster in CraftWorld",
        "6.1", restricted(CRAFTWORLD, "time_s", 5.0),
    ),
    "restricted-calls": Claim(
        "Restricted callables need 20 % fewer calls of the learner in CraftWorld",
        "6.1", restricted(CRAFTWORLD, "calls", 1 / (1 - 0.2)),
    ),
    "restricted-time-waterworld": Claim(
        "Restricted callables make learning machines 1.5 times faster in WaterWorld",
        "6.1", restricted(WATERWORLD, "time_s", 1.5),
    ),
    "options-frl": Claim(
        "Options find goal traces of milk-bucket in FRL in 128.1 times fewer episodes than primitive actions",
        "6.1", options_help("frl", 128.1, "milk-bucket"),
    ),
    "options-frl-only": Claim(
        "In FRL, milk-bucket is the only task of level 2 of which primitive actions find enough goal traces",
        "6.1", only_found("frl", 2, "milk-bucket"),
    ),
    "options-opl": Claim(
        "Options find goal traces above level 1 in 53.1 times fewer episodes than primitive actions in OPL",
        "6.1", options_help("opl", 53.1),
    ),
    "options-wd": Claim(
        "Options find goal traces above level 1 in 10.1 times fewer episodes than primitive actions in WD",
        "6.1", options_help("wd", 10.1),
    ),
    "options-little": Claim(
        "Options help little in OP and WOD (primitive actions take at most twice the episodes)",
        "6.1", options_help_little(("op", "wod"), 2.0),
    ),
    "single-trace": Claim(
        "Learning the first machines from a single goal trace runs out of time in CraftWorld",
        "6.1", single_trace, "in all settings",
    ),
    "decay": Claim(
        "In WD, the return of rgb&cmy decays when a machine of a lower level is learned again",
        "D.3.1", decays("wd", "rgb&cmy"), "a curve",
    ),
    "faster-with-calls": Claim(
        "A machine with calls is learned faster than a flat one by any learner (OP milk-bucket)",
        "6.2", faster_with_calls("milk-bucket"),
    ),
    "same-machine": Claim(
        "LHRM and JIRP find the same flat machine of milk-bucket, of 4 states",
        "6.2", same_machine("milk-bucket", ("lhrm_flat", "jirp"), 4),
    ),
    "deepsynth-large": Claim(
        "DeepSynth's machines of milk-bucket are large: 13.4 states and 93.2 edges, where 4 and 3 suffice",
        "6.2", large_machines(
            "milk-bucket", "deepsynth", {"states": 4, "edges": 3}, {"states": 13.4, "edges": 93.2}
        ),
    ),
    "jirp-edges": Claim(
        "JIRP's machines of rg have tens of edges, where 2 suffice",
        "6.2", large_machines("rg", "jirp", {"edges": 2}, {"edges": 20}),
    ),
    "time-with-calls": Claim(
        "With calls, book, book-quill and cake take minutes (at most 5), rg&bc and rgb&cmy seconds (at most 60)",
        "6.2", in_time({name: _SECONDS if "&" in name else _MINUTES for name in _NOT_FLAT}),
    ),
    "flat-infeasible": Claim(
        "LHRM cannot learn flat machines of composed tasks in time", "6.2", never_learned(WITHOUT_CALLS[:1], _NOT_FLAT)
    ),
    "flat-learners": Claim(
        "No flat learner learns rg&bc or rgb&cmy in time", "6.2", never_learned(WITHOUT_CALLS, ("rg&bc", "rgb&cmy"))
    ),
    "hierarchy-first": Claim(_hierarchy_first("our"), "6.3", hierarchy_first("ours"), "3 of 3 tasks"),
    "published-hierarchy-first": Claim(
        _hierarchy_first("the authors'"), "6.3", hierarchy_first("authors"), "3 of 3 tasks"
    ),
    "flat-first-opl": Claim(
        "In OPL the flat machine leads the hierarchy at first in some task (episodes to a return of 0.5)",
        "D.3.3", flat_first("opl"), "a curve",
    ),
    "crm-close": Claim(
        "In OP and OPL CRM is close (at most twice the episodes to a return of 0.9 of the slower of both others)",
        "D.3.3", crm_close(("op", "opl"), 2.0), "curves",
    ),
}  # fmt: skip
"""Claims by the names that studies use, in the order of the paper."""
