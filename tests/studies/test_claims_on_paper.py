"""Every claim holds on the paper's own tables, by the rules that judge our results."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rewardmachines.library.figures import exponential_family
from rewardmachines.library.published import PublishedTable
from rewardmachines.studies import machine_claims
from rewardmachines.studies.aggregate import Mean
from rewardmachines.studies.claims import CLAIMS, findings
from rewardmachines.studies.evidence import Evidence, evidence_of_paper
from rewardmachines.studies.study import load_study, study_names
from rewardmachines.studies.verdicts import FAILS, HOLDS, OPEN, WEAKER

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
    said = CLAIMS[name].judged(evidence_of_paper())
    assert (said.verdict, said.missing) == (HOLDS, ()), said
    assert said.shown


@pytest.mark.parametrize("name", sorted(WITHOUT_A_TABLE))
def test_of_curves_the_tables_of_the_paper_say_nothing(name: str) -> None:
    said = CLAIMS[name].judged(evidence_of_paper())
    assert (said.verdict, said.shown) == (OPEN, "")
    assert said.missing
    assert CLAIMS[name].paper, "then the page says what the paper says"


def changed(table: PublishedTable, setting: str, factor: float) -> Evidence:
    """The paper's tables with the times of one setting multiplied."""
    paper = evidence_of_paper()
    experiment = paper.experiment(table, setting)
    totals = {c: Mean(m.value * factor, m.error * factor, m.runs) for c, m in experiment.totals.items()}
    return replace(paper, experiments={**paper.experiments, (table, setting): replace(experiment, totals=totals)})


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
    assert CLAIMS[name].judged(changed(table, setting, factor)).verdict == verdict


def test_flat_machines_of_another_size_would_refute_the_theorem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_claims, "exponential_family", lambda height: exponential_family(min(height, 7)))
    said = CLAIMS["theorem-2"].judged(evidence_of_paper())
    assert (said.verdict, said.why) == (FAILS, "Otherwise with height 8.")


def test_every_claim_about_runs_belongs_to_a_study_of_the_paper() -> None:
    asked = {claim for name in study_names() if name.startswith("paper/") for claim in load_study(name).claims}
    assert asked == set(CLAIMS) - {"theorem-2"}


def test_without_runs_every_claim_has_an_answer_and_the_paper_beside_it() -> None:
    for name, finding in zip(CLAIMS, findings(list(CLAIMS), []), strict=True):
        assert finding.paper, name
        assert finding.section, name
        assert finding.verdict == (HOLDS if name == "theorem-2" else OPEN), name
        assert name == "theorem-2" or "0 of 5" in finding.remark or " runs" in finding.remark, finding
