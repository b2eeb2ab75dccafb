"""Every claim holds on the paper's own tables, by the rules that judge our results."""

from __future__ import annotations

import pytest

from rewardmachines.experiments.aggregate import Mean
from rewardmachines.experiments.claims import CLAIMS
from rewardmachines.experiments.findings import FAILS, HOLDS, OPEN, WEAKER, found
from rewardmachines.experiments.paper_evidence import PaperEvidence
from rewardmachines.experiments.run_evidence import RunEvidence
from rewardmachines.experiments.study import load_study, study_names
from rewardmachines.library.published import PublishedTable

WITHOUT_A_TABLE = {
    "single-trace",
    "decay",
    "hierarchy-first",
    "published-hierarchy-first",
    "flat-first-opl",
    "crm-close",
}
"""What the paper says in words or shows as curves."""


@pytest.mark.parametrize("name", [name for name in CLAIMS if name not in WITHOUT_A_TABLE])
def test_the_claim_holds_on_the_tables_of_the_paper(name: str) -> None:
    said = CLAIMS[name].judge(PaperEvidence())
    assert (said.verdict, said.missing) == (HOLDS, ()), said
    assert said.shown


@pytest.mark.parametrize("name", sorted(WITHOUT_A_TABLE))
def test_of_curves_the_tables_of_the_paper_say_nothing(name: str) -> None:
    said = CLAIMS[name].judge(PaperEvidence())
    assert (said.verdict, said.shown) == (OPEN, "")
    assert said.missing
    assert CLAIMS[name].paper, "then the page says what the paper says"


class Changed(PaperEvidence):
    """The paper's tables with the times of one setting multiplied."""

    def __init__(self, table: PublishedTable, setting: str, factor: float) -> None:
        self.changed, self.factor = (table, setting), factor

    def total(self, table: PublishedTable, setting: str, column: str) -> Mean | None:
        mean = super().total(table, setting, column)
        if mean is None or (table, setting) != self.changed:
            return mean
        return Mean(mean.value * self.factor, mean.error * self.factor, mean.runs)


@pytest.mark.parametrize(
    ("name", "table", "setting", "factor", "verdict"),
    [
        ("restricted-time", PublishedTable.DEFAULT, "fr", 0.8, WEAKER),
        ("restricted-time", PublishedTable.DEFAULT, "fr", 0.1, FAILS),
        ("restricted-calls", PublishedTable.RESTRICTED, "frl", 1.1, WEAKER),
        ("restricted-time-waterworld", PublishedTable.RESTRICTED, "wod", 1.2, WEAKER),
        ("dead-ends", PublishedTable.DEFAULT, "opl", 0.3, FAILS),
        ("dead-ends", PublishedTable.DEFAULT, "wod", 1.9, "within errors"),
        ("op-frl-alike", PublishedTable.DEFAULT, "frl", 2.0, FAILS),
        ("op-frl-alike", PublishedTable.DEFAULT, "frl", 0.3, FAILS),
        ("waterworld-faster", PublishedTable.DEFAULT, "wd", 30.0, FAILS),
    ],
)
def test_other_tables_would_say_otherwise(
    name: str, table: PublishedTable, setting: str, factor: float, verdict: str
) -> None:
    assert CLAIMS[name].judge(Changed(table, setting, factor)).verdict == verdict


def test_every_claim_about_runs_belongs_to_a_study_of_the_paper() -> None:
    asked = {claim for name in study_names() if name.startswith("paper/") for claim in load_study(name).claims}
    assert asked == set(CLAIMS) - {"theorem-2"}


def test_without_runs_every_claim_has_an_answer_and_the_paper_beside_it() -> None:
    for name, claim in CLAIMS.items():
        finding = found(claim, RunEvidence([]), PaperEvidence())
        assert finding.paper, name
        assert finding.where, name
        assert finding.verdict == (HOLDS if name == "theorem-2" else OPEN), name
        assert name == "theorem-2" or "0 of 5" in finding.remark or " runs" in finding.remark, finding
