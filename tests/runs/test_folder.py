"""The folder of a run: the run writes there by name, leaves alone what is not its own, and touches nothing outside."""

from __future__ import annotations

import fcntl
import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import pytest

from lhrm.yards import Yard
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.files import save
from rewardmachines.language import compile_task
from rewardmachines.runs.folder import FolderInUseError, RunFolder, remove_file, write_file
from rewardmachines.runs.run import Run, open_run
from runs.kinds import KINDS, Kind, kept, metrics

# -- what is in the way


def test_a_folder_holds_one_run_and_says_what_is_in_it_and_what_to_type(
    kind: Kind, whole: Run, copy: Path, tmp_path: Path
) -> None:
    steps, verb = whole.rows[-1].steps, "learn" if kind.learns else "train"
    message = (
        rf"copy: there is a run already; choose another folder, or --resume it: it is {whole.config.title}, "
        rf"{steps:,} steps so far; to go on with it, type: hrm {verb} --resume -o \S+copy, or pass resume=True$"
    )
    with pytest.raises(RewardMachineError, match=message.replace("(", r"\(")):
        kind.run(copy)
    (copy / "config.json").write_text("{")
    with pytest.raises(RewardMachineError, match=r"cannot be told \(.*damaged.*\); delete the folder, or"):
        kind.run(copy)
    with pytest.raises(RewardMachineError, match=r"no run \(no config.json\), so nothing to resume"):
        kind.resume(tmp_path / "nothing")
    assert Yard.open == 0


@pytest.mark.parametrize(
    "name",
    ["letter.txt", "machines/mine.json", ".config.json.part", ".mine.abcd1234.part", "report/a.txt", "metrics.jsonl"],
)
def test_what_is_not_ours_is_in_the_way_and_named(kind: Kind, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine")
    named = Path(name).parts[0]
    with pytest.raises(RewardMachineError, match=f"the folder is not empty: it holds '{named}'; choose another"):
        kind.run(tmp_path)
    assert path.read_text() == "mine"
    assert [one.name for one in tmp_path.iterdir()] == [named]


def test_what_a_broken_beginning_left_is_no_run_and_not_in_the_way_of_another(kind: Kind, tmp_path: Path) -> None:
    RunFolder(tmp_path).lock.touch()
    (tmp_path / ".config.json.abcd1234.part").write_text('{"format"')
    (tmp_path / ".bank.abcd1234.part" / "machines").mkdir(parents=True)
    with pytest.raises(RewardMachineError, match="there is no run"):
        open_run(tmp_path)
    kind.run(tmp_path, steps=1)
    assert not list(tmp_path.glob(".*"))


def test_a_folder_that_cannot_be_written_to_is_named(kind: Kind, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RewardMachineError, match="file/run: cannot be written to"):
        kind.run(tmp_path / "file" / "run")
    assert Yard.open == 0


def test_only_one_process_writes_to_a_folder(kind: Kind, copy: Path) -> None:
    before = (copy / "config.json").read_bytes()
    with RunFolder(copy).lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(FolderInUseError, match="another process writes there right now"):
            kind.resume(copy, steps=10**9)
    assert (copy / "config.json").read_bytes() == before
    assert Yard.open == 0


# -- what is not ours


def test_a_run_leaves_alone_what_it_did_not_write(kind: Kind, whole: Run, copy: Path) -> None:
    names = ("machines/mine.json", "examples/mine.jsonl", f"machines/{kind.task}.yaml", "machines/.mine.part", ".notes")
    for name in names:
        (copy / name).write_text("mine")
    for folder in ("machines/sub", "machines/sub.json", "examples/sub", "machines/.x.json.abcd1234.part"):
        (copy / folder).mkdir()
        (copy / folder / "a.json").write_text("mine")
    for steps in (None, whole.rows[-1].steps + 1):  # with nothing left to do, and with something
        run = kind.resume(copy, steps=steps, stop_at=whole.config.stop_at if steps is None else 0)
        assert all((copy / name).read_text() == "mine" for name in names)
        assert (copy / "machines" / "sub.json" / "a.json").read_text() == "mine"
        assert run.machines == whole.machines


def test_files_of_the_run_are_what_the_run_says_whatever_is_in_their_place(
    kind: Kind, whole: Run, copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine, example = copy / "machines" / f"{kind.task}.json", copy / "examples" / f"{kind.task}.jsonl"
    machine.unlink()
    machine.mkdir()
    example.unlink(missing_ok=True)
    example.symlink_to("elsewhere")
    kind.resume(copy)
    assert (copy / "machines" / f"{kind.task}.json.old").is_dir()
    assert (copy / "examples" / f"{kind.task}.jsonl.old").is_symlink()
    assert f"kept as {kind.task}.json.old" in capsys.readouterr().err
    for name, content in kept(whole.folder).items():
        if "safetensors" not in name:
            assert (copy / name).read_bytes() == content
    machine.unlink()
    save(compile_task("a", name=kind.task), copy / "machines" / "mine.json")
    kind.resume(copy)
    assert open_run(copy).machines == whole.machines, "a machine that is gone is not replaced by another one"


def test_files_that_are_as_they_should_be_are_not_written_again(kind: Kind, copy: Path) -> None:
    before = {path: path.stat().st_ino for name in ("machines", "examples") for path in (copy / name).iterdir()}
    assert before
    kind.resume(copy)
    assert {path: path.stat().st_ino for path in before} == before


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file beside the folder `run`, which no run may touch."""
    path = tmp_path / "victim" / "f.json"
    path.parent.mkdir()
    path.write_text("mine")
    (tmp_path / "run").mkdir()
    return path


@pytest.mark.parametrize("name", ["../victim/f.json", "{tmp}/victim/f.json", "machines/../../victim/f.json"])
def test_no_file_of_a_folder_names_files_to_delete(victim: Path, name: str) -> None:
    folder = RunFolder(victim.parents[1] / "run")
    digest = hashlib.sha256(victim.read_bytes()).hexdigest()
    named = name.format(tmp=victim.parents[1])
    (folder.path / "written.jsonl").write_text(json.dumps([named, digest]) + "\n")
    with folder.writable(), pytest.raises(RewardMachineError, match=r"not empty.*written\.jsonl"):
        folder.check_free()
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("name", ["../../victim/f", "/victim/f", "..", "x" * 100_000, "\udcff", ""])
def test_what_is_in_the_lock_of_a_beginning_that_was_broken_off_names_nothing(victim: Path, name: str) -> None:
    folder = RunFolder(victim.parents[1] / "run")
    folder.lock.write_bytes(name.encode(errors="surrogateescape"))
    with folder.writable():
        folder.check_free()
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("name", ["machines", "examples", "events", "bank", "report"])
def test_a_run_does_not_write_through_a_folder_that_leads_elsewhere(victim: Path, copy: Path, name: str) -> None:
    link = copy / name
    if link.exists():
        link.rename(copy / "before")
    link.symlink_to(victim.parent)
    with pytest.raises(RewardMachineError, match=f"{name}: a link that leads out"), RunFolder(copy).writable():
        pass
    assert (victim.read_text(), len(list(victim.parent.iterdir()))) == ("mine", 1)


@pytest.mark.parametrize("task", ["../../victim/f", "/etc/passwd", "a/b", ".", "..", "a\nb", "%2e%2e"])
def test_the_name_of_a_task_never_leads_out_of_the_folder(tmp_path: Path, task: str) -> None:
    folder = RunFolder(tmp_path / "run")
    for path in (folder.machine(task), folder.example_file(task)):
        assert path.parent.parent == folder.path
        assert path.resolve().is_relative_to(folder.path)


def test_what_is_no_file_is_renamed_where_a_file_of_the_run_belongs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, other = tmp_path / "a.json", tmp_path / "b.json"
    path.mkdir()
    other.symlink_to("elsewhere")
    write_file(path, "ours")
    write_file(path, "ours again")
    remove_file(other)
    assert (path.read_text(), other.is_symlink()) == ("ours again", False)
    assert (tmp_path / "a.json.old").is_dir()
    assert (tmp_path / "b.json.old").is_symlink()
    assert "kept as a.json.old" in capsys.readouterr().err
    path.unlink()
    path.mkdir()
    remove_file(path)
    assert (tmp_path / "a.json.old2").is_dir()
    remove_file(path)


# -- what is lost beside an intact checkpoint


def test_a_run_goes_on_without_lines_that_are_lost_and_says_so(
    kind: Kind, whole: Run, copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = whole.rows
    (copy / "metrics.jsonl").write_bytes(metrics(copy)[:-10])
    (copy / "timing.jsonl").unlink()
    run = kind.resume(copy, steps=rows[-1].steps + 1, stop_at=0)
    said = [line for line in capsys.readouterr().err.splitlines() if "lost" in line]
    assert [line.split(": ", 1)[1] for line in said] == [
        f"damaged, 1 of {len(rows)} lines are lost; the run goes on without them",
        f"damaged, {len(rows)} of {len(rows)} lines are lost; the run goes on without them",
    ]
    assert run.rows[:-1] == rows[:-1]
    assert run.rows[-1].chunk == len(rows) + 1
    assert [row.steps for row in run.timing] == [run.rows[-1].steps]


def test_lines_that_were_written_after_the_checkpoint_are_not_taken_for_earlier_ones(
    kind: Kind, whole: Run, copy: Path
) -> None:
    """A line is missing and another one is too many: the file is as long as the checkpoint says."""
    lines, last = metrics(copy).splitlines(keepends=True), len(whole.rows)
    later = lines[-1].replace(b'"chunk": %d' % last, b'"chunk": %d' % (last + 1))
    assert later != lines[-1]
    (copy / "metrics.jsonl").write_bytes(b"".join([*lines[:3], *lines[4:], later]))
    rows = kind.resume(copy, steps=whole.rows[-1].steps + 1, stop_at=0).rows
    assert [row.chunk for row in rows] == [1, 2, 3, *range(5, last + 2)]
    assert rows[:3] == whole.rows[:3]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ended": [1, 2, 3, 4]}, "'ended' must have {tasks} entries, not 4"),
        ({"goals": []}, "'goals' must have {tasks} entries, not 0"),
        ({"running": [0.0] * 5}, "'running' must have {tasks} entries, not 5"),
        ({"returns": [[0.0]] * 7}, "'returns' must have {tasks} entries, not 7"),
        ({"lengths": None}, "returns and lengths go together"),
        ({"learned": [{"task": "x"}]}, "learned.*'cause' is missing"),
    ],
)
def test_rows_with_other_entries_are_named(kind: Kind, copy: Path, change: dict[str, Any], message: str) -> None:
    lines = metrics(copy).decode().splitlines()
    lines[1] = json.dumps({**json.loads(lines[1]), **change})
    (copy / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    expected = f"metrics.jsonl, line 2.*{message.format(tasks=kind.tasks)}"
    with pytest.raises(RewardMachineError, match=expected):
        open_run(copy).rows  # noqa: B018
    lines[1] = json.dumps({**json.loads(lines[1]), "returns": [[0.0] * 9] * kind.tasks, "lengths": [[]] * kind.tasks})
    (copy / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    if not change.keys() & {"ended", "goals", "running", "learned"}:
        with pytest.raises(
            RewardMachineError, match=f"'returns' must have {kind.instances} entries for each task, not 9"
        ):
            open_run(copy).rows  # noqa: B018


def test_damaged_metrics_are_named(copy: Path) -> None:
    whole = metrics(copy)
    (copy / "metrics.jsonl").write_bytes(b"hello\n" + whole)
    with pytest.raises(RewardMachineError, match=r"metrics.jsonl, line 1: damaged, this is not JSON"):
        open_run(copy).rows  # noqa: B018
    (copy / "metrics.jsonl").write_bytes(whole.replace(b'"goals"', b'"gaols"'))
    with pytest.raises(RewardMachineError, match=r"metrics.jsonl, line 1: 'gaols' means nothing there"):
        open_run(copy).rows  # noqa: B018


@pytest.mark.parametrize("kind", [KINDS["train-domain"]], ids=str)
def test_numbers_that_are_too_large_are_named(kind: Kind, whole: Run, copy: Path) -> None:
    """To add or to draw them would fail."""
    first = json.loads(metrics(whole.folder).splitlines()[0])
    for name, message in (("steps", "steps: larger than anything"), ("formula_loss", "must be a number, not 1000")):
        (copy / "metrics.jsonl").write_text(json.dumps({**first, name: 10**400}) + "\n")
        with pytest.raises(RewardMachineError, match=f"metrics.jsonl, line 1.*{message}"):
            open_run(copy).rows  # noqa: B018
    huge = "9" * 5000
    (copy / "metrics.jsonl").write_text(f'{{"chunk": {huge}}}\n')
    with pytest.raises(RewardMachineError, match=r"metrics.jsonl, line 1: damaged, this is not JSON"):
        open_run(copy).rows  # noqa: B018
    (copy / "config.json").write_text(f'{{"format": {huge}}}')
    with pytest.raises(RewardMachineError, match=r"config.json: damaged, this is not JSON"):
        open_run(copy)


@pytest.mark.parametrize("kind", [KINDS["train-domain"]], ids=str)
@pytest.mark.parametrize("number", ["F8_E4M3", "F8_E5M2", "F8_E8M0", "F4"])
def test_types_that_numpy_does_not_have_are_named(kind: Kind, copy: Path, number: str) -> None:
    size = 1 if number == "F4" else 2
    header = json.dumps({"state/x": {"dtype": number, "shape": [2], "data_offsets": [0, size]}}).encode()
    path = copy / "checkpoint.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(size))
    with pytest.raises(RewardMachineError, match=r"checkpoint.*'state/x' has a type of numbers that NumPy does not"):
        kind.resume(copy)
