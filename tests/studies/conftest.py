from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import rewardmachines as rm
from cli.commands import Hrm
from envs.corridor import CORRIDOR
from rewardmachines.envs import registry
from studies.tiny import STUDY


@pytest.fixture
def hrm(capsys: pytest.CaptureFixture[str]) -> Hrm:
    return Hrm(capsys)


@pytest.fixture(scope="module")
def corridor() -> Iterator[None]:
    rm.register_domain(CORRIDOR)
    yield
    registry.unregister_domain("corridor")


@pytest.fixture
def study(corridor: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the tiny study, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "tiny.toml"
    path.write_text(STUDY)
    return path
