"""Runs of all kinds, as a person would type them: they are begun, go on, and are looked at, by the same commands."""

from __future__ import annotations

import json
import shlex
import shutil
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import rewardmachines as rm
from cli import corridor, craft
from cli.commands import Hrm
from rewardmachines.agents.networks import Body
from rewardmachines.cli import main
from rewardmachines.envs.scenarios import PAPER_INSTANCE_SEEDS
from rewardmachines.lhrm.config import Callables, Exploration
from rewardmachines.rollout.algorithm import RunsSideBySide
from rewardmachines.runs.config import DomainPlace
from rewardmachines.runs.folder import RunFolder
from rewardmachines.runs.journal import Journal
from rewardmachines.runs.orders import carry_out
from rewardmachines.runs.stopping import RunBudget
from rewardmachines.studies.baselines.algorithm import flat_order


@dataclass(frozen=True)
class Kind:
    """What is typed to begin a run, without its limits and its folder."""

    words: list[str]
    chunk: int
    """The steps of a chunk, at most."""
    chunks: int
    """The number of chunks with which there is something to look at."""

    @property
    def command(self) -> str:
        return self.words[0]

    def typed(self, folder: Path, chunks: int | None = None) -> list[str]:
        limits = ["--budget", str((chunks or self.chunks) * self.chunk), "--stop-at", "0"]
        return [*self.words, *limits, "--no-report", "-o", str(folder)]


KINDS = {
    "train": Kind(craft.TRAIN, craft.TRAIN_CHUNK, 4),
    "learn": Kind([*craft.LEARN, "--explore", "actions"], craft.LEARN_CHUNK, 6),
    "train own": Kind([*corridor.TRAIN, "--instances", "3"], corridor.STEPS, 8),
    "learn own": Kind(corridor.LEARN, corridor.STEPS, 6),
}
_MADE: dict[str, Path] = {}


@pytest.fixture(scope="module", autouse=True)
def _folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    _MADE.clear()
    _MADE[""] = tmp_path_factory.mktemp("runs")


def made(name: str) -> Path:
    """The folder of a run of a kind, which is begun once and not to be changed."""
    folder = _MADE[""] / name.replace(" ", "-")
    if name not in _MADE:
        assert main(KINDS[name].typed(folder)) in (0, 1)
        _MADE[name] = folder
    return folder


@pytest.fixture(params=list(KINDS))
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


# -- a run begins


def test_what_is_typed_is_what_is_trained() -> None:
    config = rm.open_run(made("train")).config
    assert (config.tasks, config.agent, config.learner, config.seed) == (("bucket",), "hrl", None, 0)
    assert config.domain is not None
    assert (config.domain.domain, config.domain.setting, config.domain.instances) == ("craftworld", "op", 2)
    assert config.domain.max_steps == 60
    assert (config.budget, config.stop_at) == (RunBudget(4 * craft.TRAIN_CHUNK), 0)
    assert (config.settings.chunk, config.settings.network.hidden) == (25, (8,))


def test_what_is_typed_is_what_is_learned() -> None:
    config = rm.open_run(made("learn")).config
    assert (config.tasks, config.learner) == (("bucket",), "exact")
    settings = config.settings
    assert (settings.goals, settings.examples) == ((1,), 1)
    assert (settings.explores_with, settings.callables) == (Exploration.ACTIONS, Callables.LOWER)
    assert (settings.agent.chunk, settings.agent.network.hidden) == (50, (8,))


def test_environments_have_names_and_levels_and_networks_that_fit() -> None:
    trained, learned = rm.open_run(made("train own")).config, rm.open_run(made("learn own")).config
    assert trained.gym is not None
    assert learned.gym is not None
    assert [(one.task, one.level, one.instances, one.env) for one in trained.gym.environments] == [
        ("left ; right", 1, 3, "cli.corridor:make")
    ]
    assert [(one.task, one.level, one.env) for one in learned.gym.environments] == [
        ("out", 1, "cli.corridor:make_out"),
        ("there and back", 2, "cli.corridor:make_round"),
    ]
    assert (trained.settings.network.body, trained.settings.network.hidden) == (Body.MLP, (16,))


@pytest.mark.parametrize(
    ("name", "more", "folder"),
    [
        ("train", ["--seed", 5], "craftworld-op-bucket-hrl-5"),
        ("train", ["--agent", "flat-hrl"], "craftworld-op-bucket-flat-hrl-0"),
        ("learn", ["--callables", "none"], "learn-craftworld-op-0"),
        ("train own", [], "cli.corridor-left-right-hrl-3"),
        ("learn own", ["--seed", 4], "learn-cli.corridor-4"),
    ],
)
def test_a_folder_is_named_after_what_is_asked_for(
    hrm: Hrm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, more: list[object], folder: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert hrm(*KINDS[name].words, *more, "--budget", 1, "--no-report") in (0, 1)
    assert [path.name for path in Path("runs").iterdir()] == [folder]
    before = rm.open_run(f"runs/{folder}").rows[-1].steps
    assert hrm(*KINDS[name].words, *more, "--budget", before + 1, "--no-report", "--resume") in (0, 1)
    assert rm.open_run(f"runs/{folder}").rows[-1].steps > before


def test_a_machine_file_says_what_is_to_be_done(hrm: Hrm, tmp_path: Path) -> None:
    assert hrm("compile", "right ; left", "-o", tmp_path / "back.yaml") == 0
    words = ["train", "cli.corridor:make", "back", *corridor.SMALL, "--hierarchy", tmp_path / "back.yaml"]
    assert hrm(*words, "--agent", "flat-hrl", "--steps", 1, "--no-report", "-o", tmp_path / "run") == 0
    run = rm.open_run(tmp_path / "run")
    assert (run.tasks, run.config.agent) == (("back",), "flat-hrl")
    assert run.hierarchy("back").used_propositions == ("left", "right")


@pytest.mark.parametrize(
    ("encode", "shape", "body"), [("channels-first", (3, 5, 5), Body.CNN), ("envs.painted:flat", (75,), Body.MLP)]
)
def test_pictures_are_encoded(hrm: Hrm, tmp_path: Path, encode: str, shape: tuple[int, ...], body: Body) -> None:
    words = ["train", "envs.painted:make_picture", "left ; right", *corridor.SMALL, "--encode", encode, "--no-report"]
    assert hrm(*words, "--set", "network.filters=[8]", "--steps", 1, "-o", tmp_path / "run") == 0
    config = rm.open_run(tmp_path / "run").config
    assert config.gym is not None
    assert (config.gym.interface.observations.shape, config.settings.network.body) == (shape, body)
    assert len(hrm.json("evaluate", tmp_path / "run")) == 1
    assert hrm("train", "--resume", "-o", tmp_path / "run", "--steps", 2 * corridor.STEPS, "--no-report") == 0
    assert "400 steps" in hrm.err


# -- a run goes on


def test_a_run_goes_on_by_its_folder_alone(hrm: Hrm, tmp_path: Path, kind: str) -> None:
    asked, folder = KINDS[kind], tmp_path / "run"
    assert hrm(*asked.typed(folder, asked.chunks // 2)) in (0, 1)
    assert hrm(asked.command, "--resume", "-o", folder, "--no-report") in (0, 1)
    assert "nothing left to do" in hrm.err
    limit = asked.chunks * asked.chunk
    assert hrm(asked.command, "--resume", "-o", folder, "--budget", limit, "--no-report") in (0, 1)
    assert f"; {folder}" in hrm.err
    assert (folder / "metrics.jsonl").read_bytes() == (made(kind) / "metrics.jsonl").read_bytes()


def test_what_agrees_with_the_run_that_goes_on_may_be_said_again(hrm: Hrm, kind: str) -> None:
    asked, folder = KINDS[kind], made(kind)
    before = (folder / "metrics.jsonl").read_bytes()
    assert hrm(*asked.words, "--resume", "-o", folder, "--no-report") in (0, 1)
    assert (folder / "metrics.jsonl").read_bytes() == before


_CONTRADICTIONS: dict[str, list[tuple[tuple[object, ...], str]]] = {
    "train": [
        (("craftworld", "cake"), "tasks is ['bucket'], not ['cake']"),
        (("waterworld",), "WaterWorld has no setting 'op'"),
        (("cli.corridor:make",), "begun in CraftWorld OP"),
        (("--setting", "opl"), "setting is op, not opl"),
        (("--agent", "crm"), "agent is hrl, not crm"),
        (("--seed", 4), "seed is 0, not 4"),
        (("--seeds", 3), "nothing to resume"),
        (("--instances", 7), "instances is 2, not 7"),
        (("--instances", "fresh"), "domain.instances is 2, not"),
        (("--instance-seed", 5), "instance_seed is"),
        (("--max-steps", 1000), "max_steps is 60, not 1000"),
        (("--own-instances", "--seed", 1), "seed is"),
        (("--train-bank",), "bank"),
        (("--set", "batch=17"), "batch is 8, not 17"),
        (("--preset", "paper"), "begun with other settings"),
        (("--hierarchy", "craftworld/cake"), "another hierarchy"),
    ],
    "learn": [
        (("--tasks", "cake"), "tasks is ['bucket'], not ['cake']"),
        (("craftworld",), "tasks is ['bucket'], not ["),
        (("--explore", "options"), "explores_with is actions, not options"),
        (("--callables", "none"), "callables is lower, not none"),
        (("--learner", "exat"), "there is no learner of machines 'exat'"),
        (("--quick",), "begun with other settings"),
    ],
    "train own": [
        (("craftworld",), "begun in cli.corridor:make"),
        (("cli.corridor:make_round",), "env is cli.corridor:make, not"),
        (("envs.painted:make",), "begun with"),
        (("cli.corridor:make", "right"), "tasks is ['left ; right'], not ['right']"),
        (("--instances", 2), "instances is 3, not 2"),
        (("--max-steps", 7), "max_steps is 1000, not 7"),
    ],
    "learn own": [
        (("cli.corridor:make_out",), "begun with other settings"),
        (("--seed", 4), "seed is 3, not 4"),
        (("--max-steps", 7), "max_steps is 1000, not 7"),
    ],
}


@pytest.mark.parametrize(
    ("name", "words", "said"), [(n, *case) for n, cases in _CONTRADICTIONS.items() for case in cases]
)
def test_what_contradicts_the_run_that_goes_on_is_refused(
    hrm: Hrm, name: str, words: tuple[object, ...], said: str
) -> None:
    """An argument that is typed counts, also where it has the value that is usual."""
    folder, asked = made(name), KINDS[name]
    before = (folder / "metrics.jsonl").read_bytes()
    assert hrm(asked.command, *words, "--resume", "-o", folder, "--budget", 10 * asked.chunks * asked.chunk) == 2
    assert said in hrm.err
    assert len([line for line in hrm.err.splitlines() if not line.startswith("importing ")]) == 1
    assert (folder / "metrics.jsonl").read_bytes() == before


def test_folders_that_hold_something_else_are_told(hrm: Hrm, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "diary.txt").write_text("mine")
    for words, message in (
        (KINDS["train"].typed(made("learn")), "there is a run already; choose another folder, or --resume it: it is "),
        (KINDS["learn own"].typed(made("train")), "there is a run already"),
        (["learn", "--resume", "-o", made("train")], "go on with it by train"),
        (["train", "--resume", "-o", made("learn own")], "go on with it by learn"),
        (KINDS["train"].typed(tmp_path / "notes"), "the folder is not empty: it holds 'diary.txt'"),
    ):
        hrm.check_refused(words, message)


def test_a_damaged_checkpoint_is_told(hrm: Hrm, tmp_path: Path, kind: str) -> None:
    for name in ("config.json", "checkpoint.safetensors"):
        (tmp_path / name).write_bytes((made(kind) / name).read_bytes()[: None if name == "config.json" else 1000])
    assert hrm(KINDS[kind].command, "--resume", "-o", tmp_path, "--budget", 10**6) == 2
    assert "checkpoint.safetensors: damaged" in hrm.err
    assert "without this file, the run would start from its beginning" in hrm.err


def test_ctrl_c_tells_how_to_go_on(hrm: Hrm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    advance = Journal.advance

    def interrupted(own: Journal) -> Any:
        if own.session.algorithm.counters.chunks == 1:
            raise KeyboardInterrupt
        return advance(own)

    monkeypatch.setattr(Journal, "advance", interrupted)
    assert hrm(*KINDS[kind].typed(tmp_path / "run")) == 130
    assert f"stopped; go on with: hrm {KINDS[kind].command} --resume -o {tmp_path / 'run'}\n" in hrm.err
    assert (tmp_path / "run" / "config.json").exists()


def test_episodes_that_cannot_be_replayed_are_a_plain_warning(hrm: Hrm, tmp_path: Path) -> None:
    words = ["learn", "cli.corridor:make_moody", *corridor.SMALL, *corridor.FEW, "--no-report", "-o", tmp_path / "run"]
    assert hrm(*words, "--budget", 2 * corridor.STEPS) == 1
    again = ["learn", "--resume", "--no-report", "-o", tmp_path / "run", "--budget", 3 * corridor.STEPS]
    assert hrm(*again) == 1
    (line,) = [line for line in hrm.err.splitlines() if line.startswith("warning: ")]
    assert "episodes could not be replayed" in line


# -- limits


def test_a_run_ends_after_so_many_episodes(hrm: Hrm, tmp_path: Path, kind: str) -> None:
    folder, command = tmp_path / "run", KINDS[kind].command
    assert hrm(*KINDS[kind].words, "--episodes", 6, "--stop-at", 0, "--no-report", "-o", folder) in (0, 1)
    run = rm.open_run(folder)
    assert run.config.budget == RunBudget(episodes=6)
    done = run.rows[-1].episodes
    assert f"{done} episodes" in hrm.err
    assert hrm(command, "--resume", "-o", folder, "--episodes", done + 4, "--no-report") in (0, 1)
    assert rm.open_run(folder).rows[-1].episodes >= done + 4


def test_quiet_runs_say_only_what_came_of_them(hrm: Hrm, tmp_path: Path, kind: str) -> None:
    assert hrm(*KINDS[kind].typed(tmp_path / "run", 1), "--quiet") in (0, 1)
    assert hrm.out == ""
    assert "steps, " in hrm.err
    assert all(line.startswith("  ") for line in hrm.err.splitlines()[1:])


# -- several seeds


@pytest.mark.parametrize("name", ["train", "learn"])
def test_runs_go_side_by_side_in_folders_of_their_own_and_by_their_common_name(
    hrm: Hrm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    asked, base, common = KINDS[name], tmp_path / "run", ["--stop-at", 0, "--no-report"]
    limit = asked.chunks * asked.chunk
    begun = [*asked.words, "--seed", 1, "--seeds", 2, "--own-instances", *common, "-o", base, "--budget", limit]
    assert hrm(*begun) in (0, 1)
    folders = [tmp_path / "run-1", tmp_path / "run-2"]
    runs = [rm.open_run(folder) for folder in folders]
    assert [run.config.seed for run in runs] == [1, 2]
    places = [run.config.domain for run in runs]
    assert [place.instance_seed for place in places if place is not None] == list(PAPER_INSTANCE_SEEDS[1:3])
    evaluations = [line.split() for line in hrm.out.splitlines() if "steps/s" in line]
    for run in runs:
        told = [words[2] for words in evaluations if words[:2] == ["seed", str(run.config.seed)]]
        assert told == [f"{row.steps:,}" for row in run.rows if row.returns is not None]
    before, done = [len(run.rows) for run in runs], min(run.rows[-1].steps for run in runs)
    resumed = [asked.command, "--resume", *common]
    assert hrm(*resumed, "-o", base) in (0, 1)
    assert hrm.err.count("nothing left to do") == 2
    assert hrm(*resumed, "-o", base, "--budget", done + 1) in (0, 1)
    both = [len(rm.open_run(folder).rows) for folder in folders]
    assert max(both) > max(before)
    assert hrm(*resumed, "-o", folders[1], "--budget", done + 2 * asked.chunk) in (0, 1)
    assert len(rm.open_run(folders[0]).rows) == both[0]
    assert len(rm.open_run(folders[1]).rows) > both[1]
    assert hrm(*resumed, "-o", base, "--seed", 2) == 2
    assert "seed is 1, not 2" in hrm.err
    _looked_at_together(hrm, base, folders)

    def interrupted(_together: RunsSideBySide, _numbers: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(RunsSideBySide, "advance", interrupted)
    assert hrm(*resumed, "-o", base, "--budget", 2 * limit) == 130
    assert f"stopped; go on with: hrm {asked.command} --resume -o {base}\n" in hrm.err


def _looked_at_together(hrm: Hrm, base: Path, folders: list[Path]) -> None:
    shown: Any = hrm.json("show", base)
    assert [one["folder"] for one in shown] == [str(folder) for folder in folders]
    evaluated: Any = hrm.json("evaluate", base)
    assert [one["seed"] for one in evaluated] == [1, 2]
    assert hrm("evaluate", base) == 0
    assert hrm.out.split()[:3] == ["seed", "task", "return"]
    assert [one["seed"] for one in hrm.json("evaluate", base, "--seed", 2)] == [2]
    assert hrm("evaluate", base, "--seed", 3) == 2
    assert "there is no seed 3; there is 1, 2" in hrm.err


# -- what is made of a run


def test_show_tells_what_a_run_is_and_what_is_missing(hrm: Hrm, kind: str) -> None:
    run = rm.open_run(made(kind))
    (told,) = hrm.json("show", run.folder)
    assert (told["run"], told["steps"], told["has_ended"]) == (run.config.title, run.rows[-1].steps, True)
    for task in told["tasks"]:
        tree = run.machines.get(task["task"])
        assert task.get("states") == (None if tree is None else len(tree[tree.root].states))
        assert task.get("missing") == run.missing.get(task["task"])
    assert hrm("show", run.folder) == 0
    for words in (run.config.title, *run.tasks, f"{run.rows[-1].steps:,} steps", f"hrm evaluate {run.folder}"):
        assert words in hrm.out
    # What is shown of machines can be typed as it is: the name of a task may have blanks, and only some have a machine.
    typed = [shlex.split(line) for line in hrm.out.splitlines() if line.startswith("machines: hrm draw")]
    assert len(typed) == bool(run.machines)
    assert all(Path(words[3]).exists() for words in typed)


def test_runs_of_baselines_are_shown_too(hrm: Hrm, tmp_path: Path) -> None:
    place = DomainPlace("craftworld", "op", instances=2, max_steps=60)
    order = flat_order(RunFolder(tmp_path / "flat"), place, "bucket", "jirp", episodes=50)
    deque(carry_out([order]), maxlen=0)
    (told,) = hrm.json("show", tmp_path / "flat")
    assert (told["run"], told["episodes"], told["has_ended"]) == ("CraftWorld OP · bucket · jirp · seed 0", 50, True)
    for words in (["evaluate"], ["report"], ["plot"]):
        hrm.check_refused([*words, tmp_path / "flat"], "jirp trains no policies")
    hrm.check_refused(["learn", "--resume", "-o", tmp_path / "flat"], "go on with it by a study")


def test_show_says_how_to_go_on(hrm: Hrm, tmp_path: Path) -> None:
    again = shutil.copytree(made("train"), tmp_path / "again")
    config = json.loads((again / "config.json").read_text())
    config["budget"]["steps"] *= 2
    (again / "config.json").write_text(json.dumps(config))
    assert hrm("show", again) == 0
    assert f"hrm train --resume -o {again} goes on" in hrm.out


def test_evaluate_judges_every_task_that_has_a_machine(hrm: Hrm, kind: str) -> None:
    run = rm.open_run(made(kind))
    every: Any = hrm.json("evaluate", run.folder)
    assert [one["task"] for one in every] == list(run.machines)
    assert all(len(one["returns"]) == len(one["lengths"]) == run.config.place.instances for one in every)
    assert every == [{"seed": run.config.seed, **json.loads(json.dumps(vars(one)))} for one in run.evaluate()]
    assert hrm("evaluate", run.folder, "--task", every[0]["task"], "--quiet") == 0
    assert hrm.out.split()[:4] == ["task", "return", "instances", "lengths"]
    assert hrm.err == ""


def test_policies_are_judged_where_they_have_never_been(hrm: Hrm, tmp_path: Path) -> None:
    film, words = tmp_path / "film.gif", ("--instances", 50, "--instance-seed", 910_000_000)
    assert hrm("evaluate", made("train"), *words, "--gif", film, "--instance", 49) == 0
    assert hrm.out.split()[:7] == ["task", "return", "instances", "without", "success", "mean", "length"]
    assert hrm.out.split()[9] == "50"
    with Image.open(film) as pictures:
        assert getattr(pictures, "n_frames", 1) > 1


@pytest.mark.parametrize(("name", "size"), [("train", None), ("learn", None), ("train own", (7 * 90, 7 * 60))])
def test_episodes_are_filmed(hrm: Hrm, tmp_path: Path, name: str, size: tuple[int, int] | None) -> None:
    best = ["--best"] if name.endswith("own") else []
    assert hrm("evaluate", made(name), "-o", tmp_path / "film.gif", "--instance", 1, *best) == 0
    assert f"wrote {tmp_path}/film.gif: " in hrm.err
    with Image.open(tmp_path / "film.gif") as film:
        assert getattr(film, "n_frames", 1) > 1
        assert size is None or (film.size[0] > size[0] and film.size[1] > size[1])


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        ("train", ["--task", "map"], "there is no task 'map' in this run"),
        ("train", ["--seed", 1], "there is no seed 1; there is 0"),
        ("train", ["--best"], "only runs in environments of your own keep their best policies"),
        ("train", ["--gif", "film.gif", "--instance", 9], "there is no instance 9"),
        ("train", ["--gif", "film.bmp"], ".gif"),
        ("learn", ["--task", "cake"], "there is no task 'cake' in this run"),
        ("learn own", ["--task", "there and back"], "there is no machine for 'there and back' yet"),
        ("learn own", ["--task", "out", "--gif", "film.gif"], "cannot be filmed: its render_mode is None"),
        ("train own", ["--instances", 5], "no others"),
    ],
)
def test_what_cannot_be_evaluated_is_one_line(
    hrm: Hrm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, words: list[object], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    hrm.check_refused(["evaluate", made(name), *words], message)
    assert not any(tmp_path.iterdir())


def test_environments_that_cannot_be_found_again_are_one_line(hrm: Hrm, tmp_path: Path) -> None:
    words = KINDS["train own"].typed(tmp_path / "run", 1)
    assert hrm(*words) == 0
    content = json.loads((tmp_path / "run" / "config.json").read_text())
    content["gym"]["environments"][0]["env"] = None
    (tmp_path / "run" / "config.json").write_text(json.dumps(content))
    hrm.check_refused(["evaluate", tmp_path / "run"], "was given as an object that cannot be found again by a name")


def test_what_was_learned_is_there_for_other_commands(hrm: Hrm, tmp_path: Path) -> None:
    folder = made("learn")
    assert hrm("check", folder / "machines" / "bucket.json") == 0
    assert hrm("induce", "--traces", folder / "examples" / "bucket.jsonl", "-o", tmp_path / "again.json") == 0
    learned = rm.load(folder / "machines" / "bucket.json")["bucket"]
    assert rm.load(tmp_path / "again.json")["root"].edges == learned.edges
    assert hrm("bank", "save", folder, "-o", tmp_path / "skills") == 0
    assert "1 machines" in hrm.err
    listed: Any = hrm.json("bank", "list", tmp_path / "skills")
    assert [machine["name"] for machine in listed["machines"]] == ["bucket"]


def test_curves_are_drawn_and_reports_are_written(hrm: Hrm, tmp_path: Path, kind: str) -> None:
    folder = shutil.copytree(made(kind), tmp_path / "again")
    for axis in ("steps", "episodes", "seconds"):
        assert hrm("plot", folder, "-o", tmp_path / f"{axis}.png", "--x", axis) == 0
        with Image.open(tmp_path / f"{axis}.png") as picture:
            assert picture.size[0] > 800
    assert hrm("plot", folder, "-o", tmp_path / "mean.pdf", "--mean", "--window", 2) == 0
    assert (tmp_path / "mean.pdf").read_bytes().startswith(b"%PDF")
    assert hrm("report", folder) == 0
    assert f"wrote {folder}/report/index.html" in hrm.err
    assert hrm("plot", folder, "-o", tmp_path / "curve.txt") == 2
    assert "curves are written as .png" in hrm.err


def test_runs_end_with_a_report(hrm: Hrm, tmp_path: Path, kind: str) -> None:
    words = [word for word in KINDS[kind].typed(tmp_path / "run", 2) if word != "--no-report"]
    assert hrm(*words) in (0, 1)
    assert f"wrote {tmp_path}/run/report/index.html" in hrm.err
    (line,) = [line for line in hrm.err.splitlines() if " in all: " in line]
    assert line.endswith("for the report")


def test_seeds_are_reported_on_together(hrm: Hrm, tmp_path: Path) -> None:
    words = [*KINDS["train"].words, "--stop-at", 0, "--budget", 400, "--seeds", 2, "-o", tmp_path / "run"]
    assert hrm(*words) == 0
    assert hrm.err.count("wrote ") == 3
    assert f"wrote {tmp_path}/run-report/index.html" in hrm.err
    other = [*KINDS["train"].typed(tmp_path / "other"), "--set", "evaluate_every=1"]
    assert hrm(*other) == 0
    hrm.check_refused(["report", tmp_path / "run-0", tmp_path / "other"], "differ in more than their seeds")
    mine = tmp_path / "mine" / "index.html"
    mine.parent.mkdir()
    mine.write_text("<html>mine</html>")
    hrm.check_refused(["report", tmp_path / "run-0", "-o", mine.parent], "choose another")
    assert mine.read_text() == "<html>mine</html>"


def test_reports_replace_no_page_of_others(hrm: Hrm, tmp_path: Path) -> None:
    """Neither in the folder of a run nor beside several, and runs that would come to that do not begin."""
    runs, text = [tmp_path / "run-0", tmp_path / "run-1"], "<html>mine</html>"
    words = [*KINDS["train"].words, "--stop-at", 0, "--budget", 400, "--seeds", 2, "-o", tmp_path / "run"]
    assert hrm(*words, "--no-report") == 0
    for page, asked in ((runs[1] / "report" / "index.html", runs[1:]), (tmp_path / "run-report" / "index.html", runs)):
        page.parent.mkdir()
        page.write_text(text)
        steps = [len((run / "metrics.jsonl").read_text()) for run in runs]
        hrm.check_refused(["report", *asked], "which is of no report")
        more = ["train", "--resume", "-o", tmp_path / "run", "--budget", 4_000]
        hrm.check_refused(more, "which is of no report")
        assert page.read_text() == text
        assert steps == [len((run / "metrics.jsonl").read_text()) for run in runs], "nothing has begun"
        shutil.rmtree(page.parent)
    foreign = tmp_path / "new-report" / "index.html"
    foreign.parent.mkdir()
    foreign.write_text(text)
    hrm.check_refused([*words[:-1], tmp_path / "new"], "which is of no report")
    assert not (tmp_path / "new-0").exists()
    assert hrm("report", *runs) == 0
    assert hrm("report", *runs) == 0, "a report is replaced by a new one"
