"""The claims of the paper, which are data (`claims.toml`), and what results say of them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from types import ModuleType
from typing import Any, Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import suggestion
from rewardmachines.studies import flat_claims, machine_claims, policy_claims
from rewardmachines.studies.evidence import Evidence, evidence_of_paper, evidence_of_results
from rewardmachines.studies.results import Result
from rewardmachines.studies.tables import Table
from rewardmachines.studies.verdicts import Judgement

_JUDGES: Final[tuple[ModuleType, ...]] = (machine_claims, flat_claims, policy_claims)


@dataclass(frozen=True)
class Claim:
    """A claim of the paper."""

    words: str
    """The claim in words."""
    section: str
    """The section of the paper that says so."""
    judge: str
    """The name of the function that judges evidence."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """Its arguments beside the evidence."""
    paper: str = ""
    """The paper's statement where it has no table. Otherwise its tables are judged, and say it themselves."""

    def judged(self, evidence: Evidence) -> Judgement:
        """The judge: evidence to verdict."""
        module = next(module for module in _JUDGES if hasattr(module, self.judge))
        judgement: Judgement = getattr(module, self.judge)(evidence, **self.given)
        return judgement


@dataclass(frozen=True)
class ClaimFinding:
    """A claim of the paper, and what our results say of it."""

    claim: str
    section: str
    paper: str
    """The published numbers, or what the paper says."""
    ours: str
    verdict: str
    """Whether it holds; open, as long as results are missing that could change the answer."""
    remark: str
    """Why it does not hold, or what is missing."""


def _read_claims() -> dict[str, Claim]:
    text = (resources.files("rewardmachines.studies") / "claims.toml").read_text(encoding="utf-8")
    return {name: Claim(**table) for name, table in tomllib.loads(text).items()}


CLAIMS: Final = _read_claims()
"""Claims by the names that studies use, in the order of the paper."""


def findings(names: Sequence[str], results: Sequence[Result]) -> list[ClaimFinding]:
    """The findings on some claims, beside those of the paper's tables.

    Args:
        names: Names in `CLAIMS`.
        results: All results that there are.

    Raises:
        RewardMachineError: There is no such claim.
    """
    check_claims(names)
    ours, found = evidence_of_results(results), []
    for claim in (CLAIMS[name] for name in names):
        said, theirs = claim.judged(ours), claim.paper or claim.judged(evidence_of_paper()).shown
        found.append(ClaimFinding(claim.words, claim.section, theirs, said.shown, *said.answer))
    return found


def check_claims(names: Iterable[str]) -> None:
    """Checks that claims exist.

    Raises:
        RewardMachineError: One of them does not.
    """
    for name in names:
        if name not in CLAIMS:
            hint = suggestion(name, CLAIMS) or f"; there are {', '.join(CLAIMS)}"
            raise RewardMachineError(f"there is no claim '{name}'{hint}")


def claims_table(names: Sequence[str], results: Sequence[Result]) -> Table:
    """The same as a table."""
    rows = tuple((f.claim, f.section, f.paper, f.ours, f.verdict, f.remark) for f in findings(names, results))
    header = ("claim", "section", "paper", "ours", "verdict", "why, or what is missing")
    return Table("The claims of the paper", header, rows)
