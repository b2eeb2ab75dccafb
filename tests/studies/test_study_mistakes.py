"""What can be wrong with a study, its results or the device: one line each, exit status 2, and nothing lost."""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import pytest

from cli.commands import Hrm
from rewardmachines.studies.plan import planned_runs
from rewardmachines.studies.results import write_results
from rewardmachines.studies.study import load_study
from studies.made_up import made_up
from studies.tiny import STUDY


def refused(hrm: Hrm, *words: object) -> str:
    """The line with which a command is refused."""
    assert hrm(*words) == 2
    assert len(hrm.err.strip().splitlines()) == 1
    assert "Traceback" not in hrm.err
    return hrm.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run",), "say which study to run: "),
        (("run", "smok"), "there is no study 'smok'; did you mean 'smoke'"),
        (("run", "smoke", "--budget", "5000"), "a study is limited by time, such as 10m or 2h"),
        (
            ("run", "smoke", "--budget", "soon"),
            "--budget soon: write a number of steps, such as 500000 or 1e6, or a time",
        ),
        (("run", "smoke", "--budget", "0h"), "--budget 0h: write a number of steps, such as 500000 or 1e6, or a time"),
        (("walk",), "is one of list, report, run, show, status, not 'walk'"),
        (("run", "smoke", "--jobs", "0"), "at least one job is needed"),
        (("run", "smoke", "--seeds", "0"), "study smoke, runs 'default': at least one seed is needed, not 0"),
        (("run", "smoke", "--only", "polices"), "of that name; did you mean 'policies'?"),
        (("show", "smoke", "--only", "op"), "--only chooses runs for hrm study run and status, not for show"),
        (("report", "smoke"), "report is about all studies of the paper; for one: hrm study show STUDY -o PAGE"),
        (("run", "smoke", "--device", "tpu"), "--device is one of cpu, gpu, not 'tpu'"),
        (("run", "smoke", "--device", "gpu"), "--device gpu: there is none, JAX computes on cpu here"),
        (("run", "smoke", "--device", "cpu", "--on", "ray"), "--device speaks of this machine"),
        (("run", "smoke", "--on", "ray", "--jobs", "2"), "--jobs speaks of this machine"),
        (("run", "smoke", "--address", "there:6379"), "--address is for runs on a Ray cluster: add --on ray"),
        (("run", "smoke", "--gpus", "1"), "--gpus is for runs on a Ray cluster: add --on ray"),
        (("run", "smoke", "--on", "ray", "--cpus", "0"), "--cpus 0: a task needs a number of cores"),
        (("run", "smoke", "--on", "ray", "--cpus", "inf"), "--cpus inf: a task needs a number of cores"),
        (("run", "smoke", "--on", "ray", "--gpus", "1.5"), "--gpus 1.5: write a share of a GPU"),
        (("run", "smoke", "--on", "ray"), "Ray is not installed: pip install 'rewardmachines[ray]'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_commands_that_are_wrong(
    hrm: Hrm, study: Path, words: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)  # as if it were not installed
    assert message in refused(hrm, "study", *words)
    assert [path.name for path in Path().iterdir()] == [study.name], "nothing was begun"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"short"', '"shorl"', "tiny, runs 'learned': there is no setting 'shorl'; did you mean 'short'"),
        (
            '["leave", "ring"]',
            '["leave", "rink"]',
            "runs 'learned': Corridor has no task 'rink'; did you mean 'ring'",
        ),
        ("steps = 2400", "stepps = 2400", "runs[0]: 'stepps' means nothing there; did you mean 'steps'"),
        ('"goals=[2]"', '"gools=[2]"', "'gools' means nothing there; did you mean 'goals'"),
        ('"hierarchy-first"', '"hierarchy-frist"', "no claim 'hierarchy-frist'; did you mean 'hierarchy-first'?"),
        ("title = ", "titel = ", "'titel' means nothing there; did you mean 'title'"),
        ("seeds = 2", "learner_seconds = inf", "runs 'learned': learner_seconds is a number of seconds"),
        ("episodes = 200", "learner_seconds = inf", "runs 'flat': learner_seconds is a number of seconds"),
        ("episodes = 200", "learner_seconds = nan", "runs 'flat': learner_seconds is a number of seconds"),
        ("episodes = 200", "learner_seconds = 0", "runs 'flat': learner_seconds is a number of seconds"),
        ("episodes = 200", "stop_at = nan", "runs 'flat': stop_at is a return"),
        ("steps = 2400", "stop_at = inf", "runs 'learned': stop_at is a return"),
        ("steps = 2400", "stop_at = -0.1", "runs 'learned': stop_at is a return"),
        ("episodes = 200", "episodes = 0", "runs 'flat': at least one episode is needed, not 0"),
        ("[[runs]]", "[[runs]", "this is not TOML"),
        (
            "[[figures]]\n",
            '[[figures]]\nsettings = ["long"]\n',
            "'Learning curves' speaks of the setting 'long', which no runs have; there are short",
        ),
    ],
)
@pytest.mark.parametrize("action", ["run", "show", "status"])
def test_study_files_that_are_wrong(hrm: Hrm, study: Path, action: str, old: str, new: str, message: str) -> None:
    assert old in STUDY
    study.write_text(STUDY.replace(old, new, 1))
    assert message in refused(hrm, "study", action, study)
    assert [path.name for path in Path().iterdir()] == [study.name], "nothing was begun"


@pytest.mark.parametrize("action", ["run", "show", "status"])
@pytest.mark.parametrize("file", ["tiny", "paper/other"])
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"format": 99}', "line 2: a result of another version (format 99); this version reads 1"),
        ('{"format": 1, "key": ', "line 2: damaged, this is not JSON"),
        ("", "line 2: damaged, this is not JSON"),
        ("[1]", "line 2: a result of another version (format None); this version reads 1"),
    ],
)
def test_result_files_that_cannot_be_read_stay_as_they_are(
    hrm: Hrm, study: Path, action: str, file: str, line: str, message: str
) -> None:
    (run, *_) = planned_runs(load_study(str(study)))
    path = Path(f"results/{file}.jsonl")
    write_results(path, [made_up(run)])
    text = f"{path.read_text()}{line}\n"
    path.write_text(text)
    assert f"{path}, {message}" in refused(hrm, "study", action, study)
    assert path.read_text() == text
    assert not Path("runs").exists()


def test_a_page_of_results_that_cannot_be_read_is_not_written(hrm: Hrm, study: Path) -> None:
    path = Path("results/paper/default.jsonl")
    path.parent.mkdir(parents=True)
    path.write_text('{"format": 99}\n')
    Path("page.md").write_text("before")
    message = "line 1: a result of another version (format 99); this version reads 1"
    assert message in refused(hrm, "study", "report", "-o", "page.md")
    assert Path("page.md").read_text() == "before"


def test_a_device_that_was_asked_for_and_is_not_there_is_named(
    hrm: Hrm, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JAX asserts that a platform is there which it was told to use."""

    def no_device() -> str:
        raise AssertionError

    monkeypatch.setenv("JAX_PLATFORMS", "cuda")
    monkeypatch.setattr(jax, "default_backend", no_device)
    message = "JAX finds no device for JAX_PLATFORMS=cuda; leave it out, or write cpu"
    assert message in refused(hrm, "study", "run", study)
    assert [path.name for path in Path().iterdir()] == [study.name]
