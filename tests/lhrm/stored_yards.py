"""What tests compare of the folders of runs in yards."""

from __future__ import annotations

from pathlib import Path

from safetensors.numpy import load_file

from rewardmachines.lhrm.learn_gymnasium import LearnedTasks


def folder_of(learned: LearnedTasks) -> Path:
    assert learned.files is not None
    return learned.files.path


def kept(folder: Path) -> dict[str, bytes]:
    """What depends on the settings alone."""
    files = [folder / "metrics.jsonl", *(folder / "machines").iterdir(), *(folder / "examples").iterdir()]
    networks = load_file(folder / "policies-best.safetensors")
    networks.pop("host")  # says how long searches took
    return {
        **{str(path.relative_to(folder)): path.read_bytes() for path in files},
        **{name: array.tobytes() for name, array in networks.items()},
    }
