"""What becomes of the target of a write: a file is replaced, and what is no file is written to."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from rewardmachines.files import folder_aside, write_aside


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    write_aside(pipe, "through")
    reader.join(10)
    assert read == ["through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert _names(tmp_path) == ["pipe"]


def test_a_device_stays_a_device(tmp_path: Path) -> None:
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        device.write_bytes(b"")
    except OSError:
        pytest.skip("devices cannot be made here")
    write_aside(device, "gone")
    assert stat.S_ISCHR(device.stat().st_mode)
    assert _names(tmp_path) == ["null"]


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays_a_link_and_its_file_is_replaced(tmp_path: Path, exists: bool) -> None:
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "target", tmp_path / "link"
    if exists:
        target.write_text("old")
        before = target.stat().st_ino
    link.symlink_to("folder/target")
    write_aside(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert not exists or target.stat().st_ino != before, "replaced at once, not written over"
    assert _names(tmp_path) == ["folder", "link"]
    assert _names(tmp_path / "folder") == ["target"]


def test_a_link_to_a_pipe_is_written_through(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to("pipe")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    write_aside(link, "through")
    reader.join(10)
    assert read == ["through"]
    assert link.is_symlink()


def test_what_is_behind_a_descriptor_is_kept(tmp_path: Path) -> None:
    # Not by way of /dev/stdout: code that replaces it would do so, where it may.
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("descriptors have no names here")
    log = tmp_path / "log"
    log.write_text("before\n")
    code = "from rewardmachines.files import write_aside; write_aside('/proc/self/fd/1', 'new\\n')"
    with log.open("a") as file:
        subprocess.run([sys.executable, "-c", code], stdout=file, check=True)
    assert log.read_text() == "before\nnew\n"


def test_a_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "private"
    path.write_text("old")
    path.chmod(0o600)
    write_aside(path, "new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o600)


def test_a_name_as_long_as_names_can_be_is_written(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    write_aside(path, "new")
    assert path.read_text() == "new"
    assert _names(tmp_path) == [path.name]


@pytest.mark.parametrize("name", ["missing/file", "folder", "folder/", "file/file", "n" * 256, "loop"])
def test_an_error_names_what_was_asked_for_and_nothing_is_left_behind(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("old")
    (tmp_path / "loop").symlink_to("loop")
    before = _names(tmp_path)
    with pytest.raises(OSError, match=r".+") as caught:
        write_aside(tmp_path / name, "new")
    assert caught.value.filename == str(tmp_path / name)
    assert ".part" not in str(caught.value)
    assert _names(tmp_path) == before
    assert _names(tmp_path / "folder") == []


def test_a_pipe_that_nobody_reads_any_longer_is_named(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: os.close(os.open(pipe, os.O_RDONLY)), daemon=True)
    reader.start()
    with pytest.raises(BrokenPipeError) as caught:
        write_aside(pipe, "x" * 10_000_000)
    assert caught.value.filename == str(pipe)


# -- folders


def test_a_folder_is_there_with_all_its_files_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "skills"

    def write(*, fails: bool) -> None:
        with folder_aside(path) as aside:
            (aside / "a").write_text("a")
            assert not path.exists()
            if fails:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(fails=True)
    assert _names(tmp_path) == []
    write(fails=False)
    assert (_names(tmp_path), _names(path)) == (["skills"], ["a"])


@pytest.mark.parametrize("mask", [0o022, 0o027, 0o077])
def test_a_new_folder_has_the_permissions_that_are_usual(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        with folder_aside(tmp_path / "new"):
            pass
        (tmp_path / "private").mkdir(mode=0o700)
        with folder_aside(tmp_path / "private"):
            pass
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o777 & ~mask
    assert stat.S_IMODE((tmp_path / "private").stat().st_mode) == 0o700


_KILLED = """
import sys, time
from pathlib import Path
from rewardmachines.files import folder_aside
with folder_aside(Path(sys.argv[1])) as aside:
    (aside / "half").write_text("half")
    print("ready", flush=True)
    time.sleep(100)
"""


def test_what_a_killed_process_left_of_a_folder_goes_and_what_another_is_writing_stays(tmp_path: Path) -> None:
    path = tmp_path / "a folder with a name that is longer than what is shown"
    other = tmp_path / ".mine.abcd1234.part"
    other.mkdir()
    writers = [
        subprocess.Popen([sys.executable, "-c", _KILLED, str(path)], stdout=subprocess.PIPE, text=True) for _ in "ab"
    ]
    try:
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
        writers[0].kill()
        writers[0].wait()
        assert len(_names(tmp_path)) == 3, "one is left, one is being written, one is not ours"
        with folder_aside(path):
            pass
        assert len(_names(tmp_path)) == 3
        assert path.is_dir()
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()
    path.rmdir()
    with folder_aside(path):
        pass
    assert _names(tmp_path) == [other.name, path.name]
