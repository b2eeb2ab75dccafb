"""What a run was made by is recorded, and changes nothing."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import pytest

from agents.tiny import CHUNK, tiny_spec
from rewardmachines.agents.training.run import load_run
from rewardmachines.agents.training.spec import TrainOrder, load_order, save_order
from rewardmachines.agents.training.train import train
from rewardmachines.lhrm import spec as orders
from rewardmachines.runs.budget import Budget
from rewardmachines.runs.config_file import difference

pytestmark = pytest.mark.usefixtures("shared_programs")

ORDER = TrainOrder(tiny_spec(), Budget(100))
OLDER = {"rewardmachines": "0.0.1", "jax": "0.0.2", "device": "abacus", "date": "1202-01-01T00:00:00+00:00"}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config.json"


def makers(config: Path) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(config.read_text())["made_by"]
    return found


def change(config: Path, **changes: Any) -> None:
    config.write_text(json.dumps(json.loads(config.read_text()) | changes))


def forget(config: Path) -> None:
    """Makes of the settings what versions without a record of their makers wrote."""
    content = json.loads(config.read_text())
    del content["made_by"]
    config.write_text(json.dumps(content))


def test_settings_record_versions_device_and_date(config: Path) -> None:
    save_order(ORDER, config)
    (maker,) = makers(config)
    age = datetime.now(UTC) - datetime.fromisoformat(maker.pop("date"))
    assert timedelta(seconds=-1) < age < timedelta(minutes=5)
    device = jax.devices()[0].device_kind
    assert maker == {"rewardmachines": version("rewardmachines"), "jax": jax.__version__, "device": device}


def test_settings_of_learning_record_the_same(config: Path) -> None:
    order = orders.LearnOrder(orders.standard_learning("craftworld", "op", ["bucket"]), Budget(), 0.95)
    orders.save_order(order, config)
    (maker,) = makers(config)
    assert list(maker) == ["rewardmachines", "jax", "device", "date"]
    assert orders.load_order(config) == order


def test_settings_that_are_written_again_keep_their_earlier_makers(config: Path) -> None:
    save_order(ORDER, config)
    change(config, made_by=[OLDER])
    save_order(ORDER, config)
    earlier, now = makers(config)
    assert (earlier, now["jax"]) == (OLDER, jax.__version__)


def test_makers_are_no_settings(config: Path) -> None:
    save_order(ORDER, config)
    change(config, made_by=[OLDER])
    assert load_order(config) == ORDER
    assert difference(load_order(config), ORDER) is None


def test_settings_without_makers_are_read(config: Path) -> None:
    save_order(ORDER, config)
    forget(config)
    assert load_order(config) == ORDER


@pytest.mark.parametrize("damaged", [None, 3, "yesterday", {"jax": "1"}])
def test_a_damaged_record_of_makers_is_begun_afresh(config: Path, damaged: Any) -> None:
    save_order(ORDER, config)
    change(config, made_by=damaged)
    assert load_order(config) == ORDER
    save_order(ORDER, config)
    assert len(makers(config)) == 1


@pytest.mark.parametrize("text", ["{", "[]", '"', "\x00"])
def test_settings_are_written_over_a_file_that_cannot_be_read(config: Path, text: str) -> None:
    config.write_text(text)
    save_order(ORDER, config)
    assert load_order(config) == ORDER


def test_runs_of_other_makers_are_resumed(tmp_path: Path) -> None:
    spec, config = tiny_spec(), tmp_path / "run" / "config.json"
    run = train(tmp_path / "run", spec, None, CHUNK)
    forget(config)
    train(run.folder, spec, resume=True)
    assert len(makers(config)) == 1
    change(config, made_by=[OLDER])
    train(run.folder, spec, None, 2 * CHUNK, resume=True)
    assert [maker["device"] for maker in makers(config)] == ["abacus", jax.devices()[0].device_kind]
    assert [row.steps for row in load_run(run.folder).rows()] == [CHUNK, 2 * CHUNK]
