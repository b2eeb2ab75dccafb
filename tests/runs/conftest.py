"""Whole runs of each kind, which tests look at, and copies of their folders, which tests change."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from lhrm.toy import two_rooms_registered
from lhrm.yards import Yard
from rewardmachines.runs.run import Run
from runs.kinds import KINDS, Kind


@pytest.fixture(autouse=True)
def two_rooms() -> Iterator[None]:
    """Two rooms are known, as domains of packages are."""
    with two_rooms_registered():
        yield


@pytest.fixture(autouse=True)
def no_yards() -> None:
    """A test does not see environments that another one left open."""
    Yard.open = 0


class Wholes:
    """Runs without a break, each of which is made when it is first asked for. Their folders are not to be changed."""

    def __init__(self, places: pytest.TempPathFactory) -> None:
        self._places, self._runs = places, dict[str, Run]()

    def __getitem__(self, kind: Kind) -> Run:
        if kind.name not in self._runs:
            self._runs[kind.name] = kind.run(self._places.mktemp("whole") / kind.name)
        return self._runs[kind.name]


@pytest.fixture(scope="session")
def wholes(tmp_path_factory: pytest.TempPathFactory) -> Wholes:
    return Wholes(tmp_path_factory)


@pytest.fixture(params=KINDS.values(), ids=str)
def kind(request: pytest.FixtureRequest) -> Kind:
    """Each kind of runs."""
    found: Kind = request.param
    return found


@pytest.fixture
def whole(wholes: Wholes, kind: Kind) -> Run:
    """A run of the kind without a break. Its folder is not to be changed."""
    return wholes[kind]


@pytest.fixture
def copy(whole: Run, tmp_path: Path) -> Path:
    """The folder of the whole run, to be changed."""
    return Path(shutil.copytree(whole.folder, tmp_path / "copy"))
