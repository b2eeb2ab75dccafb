"""A study is data: it is read strictly, every run has a key, and what is wrong is said in one line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rewardmachines.agents.presets import Preset
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.scenarios import PAPER_INSTANCE_SEEDS
from rewardmachines.lhrm.config import Callables
from rewardmachines.runs.folder import RunFolder
from rewardmachines.runs.orders import LearnArguments, order_of
from rewardmachines.runs.stopping import RunBudget
from rewardmachines.studies.claims import CLAIMS
from rewardmachines.studies.plan import planned_runs
from rewardmachines.studies.study import RunKind, load_study, read_study, study_names

STUDY = """
title = "Mine"

[[runs]]
name = "mine"
command = "learn"
settings = ["op", "wod"]
preset = "table"
seeds = 3
set = ["callables=restricted", "batch=64"]

[[tables]]
kind = "lhrm"
title = "Table"
blocks = ["mine"]
"""


def test_a_study_is_read_with_what_is_usual_where_nothing_is_said() -> None:
    study = read_study(STUDY, "mine", "mine.toml")
    (block,) = study.blocks
    assert (block.command, block.preset, block.seeds, block.own_instances) == (RunKind.LEARN, Preset.TABLE, 3, True)
    assert (study.title, study.figures, block.name) == ("Mine", (), "mine")


def test_runs_have_the_instances_of_the_paper_and_the_settings_that_were_changed() -> None:
    runs = planned_runs(read_study(STUDY, "mine", "mine.toml"))
    assert [(run.setting, run.seed) for run in runs] == [(s, r) for s in ("op", "wod") for r in range(3)]
    for run in runs:
        config = run.order(Path("nowhere")).config
        assert config.domain is not None
        assert (config.seed, config.domain.instance_seed) == (run.seed, PAPER_INSTANCE_SEEDS[run.seed])
        assert (config.settings.callables, config.settings.agent.batch) == (Callables.RESTRICTED, 64)
        assert config.budget == RunBudget()
    assert len(planned_runs(read_study(STUDY, "mine", ""), seeds=5)) == 10


def test_runs_in_fresh_instances_have_the_settings_and_the_instances_of_such_runs() -> None:
    text = STUDY.replace("seeds = 3", 'seeds = 3\ninstances = "fresh"').replace('preset = "table"\n', "")
    run = planned_runs(read_study(text, "mine", "mine.toml"))[2]
    ordered = run.order(Path("nowhere")).config
    asked = LearnArguments("craftworld", run.tasks, setting="op", seed=2, instances="fresh")
    config = order_of(asked, RunFolder(Path("nowhere")), resume=False).config
    assert ordered.domain == config.domain
    assert config.domain is not None
    assert config.domain.fresh > 0
    changes = {"callables": Callables.RESTRICTED, "agent": replace(config.settings.agent, batch=64)}
    assert ordered == replace(config, settings=replace(config.settings, **changes))


def test_the_run_by_the_published_rules_takes_all_of_its_episodes() -> None:
    run, *others = planned_runs(load_study("paper/anchor"))
    config = run.order(Path("nowhere")).config
    assert (config.stop_at, config.budget, others) == (0, RunBudget(episodes=150_000), [])


def test_keys_are_the_same_in_every_study() -> None:
    runs = planned_runs(read_study(STUDY, "mine", ""))
    assert len({run.key for run in runs}) == len(runs)
    assert len({run.key_without_seed for run in runs}) == 2
    renamed = STUDY.replace('name = "mine"', 'name = "yours"').replace('blocks = ["mine"]', 'blocks = ["yours"]')
    assert [run.key for run in planned_runs(read_study(renamed, "yours", ""))] == [run.key for run in runs]
    fewer = STUDY.replace('"callables=restricted", "batch=64"', '"batch=64", "callables=restricted"')
    assert [run.key for run in planned_runs(read_study(fewer, "mine", ""), 2)] == [
        run.key for run in runs if run.seed < 2
    ]


@pytest.mark.parametrize(
    "line",
    ["rules = 2", "steps = 9", "episodes = 9", "stop_at = 0.5", "max_steps = 9", "instances = 9", "learner_seconds = 9",
     "own_instances = false", 'instances = "fresh"', 'tasks = ["bucket"]', 'command = "train"', 'preset = "fast"',
     'set = ["batch=32"]'],
)  # fmt: skip
def test_keys_tell_runs_apart_that_a_study_tells_apart(line: str) -> None:
    """Whatever is said of runs makes others of them; how the program represents settings does not."""
    study = STUDY.replace('settings = ["op", "wod"]', 'settings = ["op"]').replace(
        'set = ["callables=restricted", "batch=64"]', 'set = ["batch=64"]\ntasks = ["bucket", "milk-bucket"]'
    )
    name = line.partition(" ")[0]
    kept = [each for each in study.splitlines() if not each.startswith(f"{name} =")]
    at = kept.index("[[runs]]") + 1
    other = "\n".join([*kept[:at], line, *kept[at:]])
    runs = [planned_runs(read_study(text, "mine", "mine.toml")) for text in (study, other)]
    assert not {run.key for run in runs[0]} & {run.key for run in runs[1]}


def test_keys_stay_as_they_are() -> None:
    """Results are found by them: if this fails, those of the repository must be given their new keys."""
    first, *_ = planned_runs(read_study(STUDY, "mine", ""))
    assert first.key == "8094b20f516bc62a"


@pytest.mark.parametrize("name", study_names())
def test_studies_of_the_package_can_be_planned(name: str) -> None:
    study = load_study(name)
    runs = planned_runs(study)
    if not study.studies:  # these have runs in common
        assert len({run.key for run in runs}) == len(runs)
        assert study.tables
    assert set(study.claims) <= set(CLAIMS)
    assert all(len(run.title) < 120 for run in runs)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "Mine"', "title = [", "this is not TOML"),
        ('title = "Mine"', "titel = 1", "'titel' means nothing there; did you mean 'title'"),
        ("seeds = 3", "seds = 3", r"runs\[0\]: 'seds' means nothing there; did you mean 'seeds'"),
        ("seeds = 3", 'seeds = "three"', r"runs\[0\], seeds: must be a whole number, not three"),
        ('command = "learn"', 'command = "lern"', "must be one of learn, train, flat, not lern"),
        ('name = "mine"\n', "", "'name' is missing"),
        ('blocks = ["mine"]', 'blocks = ["mien"]', "'Table' speaks of the runs 'mien', which are not there; did you"),
        ('kind = "lhrm"', 'kind = "lrm"', "must be one of lhrm, flat, reach, not lrm"),
        ("[[runs]]", "[runs]", r"write \[\[runs\]\], with double brackets"),
    ],
)
def test_studies_that_are_wrong_are_named(old: str, new: str, message: str) -> None:
    assert old in STUDY
    with pytest.raises(RewardMachineError, match=message) as problem:
        read_study(STUDY.replace(old, new), "mine", "mine.toml")
    assert str(problem.value).startswith("mine.toml")
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('["op", "wod"]', '["oop"]', "there is no setting 'oop'; did you mean 'op'"),
        ("batch=64", "bach=64", "'bach' means nothing there; did you mean 'batch'"),
        ("seeds = 3", 'seeds = 3\ntasks = ["bukket"]', "has no task 'bukket'"),
        ("seeds = 3", "seeds = 0", "at least one seed"),
        ('command = "learn"', 'command = "train"', "say which tasks"),
        ('command = "learn"', 'command = "flat"\ntasks = ["bucket"]', "say which methods"),
        ('command = "learn"', 'command = "flat"\ntasks = ["bucket"]\ninstances = "fresh"', "fixed instances"),
        ('command = "learn"', 'command = "flat"\ntasks = ["bucket"]\nmethods = ["jrp"]', "no baseline 'jrp'"),
    ],
)
def test_runs_that_cannot_be_are_named_with_their_block(old: str, new: str, message: str) -> None:
    text = STUDY.replace(old, new)
    if 'command = "flat"' in text:
        text = text.replace('settings = ["op", "wod"]', 'settings = ["op"]')
    with pytest.raises(RewardMachineError, match=f"study mine, runs 'mine': .*{message}"):
        planned_runs(read_study(text, "mine", "mine.toml"))


def test_studies_are_found_by_name_or_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(STUDY)
    assert load_study(str(path)).name == "mine"
    with pytest.raises(RewardMachineError, match="there is no study 'smok'; did you mean 'smoke'"):
        load_study("smok")
    with pytest.raises(FileNotFoundError, match=r"nowhere.toml"):
        load_study(str(tmp_path / "nowhere.toml"))
