"""Arrays have the shapes and types that annotations say, wherever the compiled modules are called."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import jax.numpy as jnp
import pytest
from jaxtyping import Array, Float, Int32, TypeCheckError, install_import_hook

from shapes.records import check_record

CHECKED = (
    "rewardmachines.lowered",
    "rewardmachines.agents.options",
    "rewardmachines.agents.hierarchical_dqn",
    "rewardmachines.agents.crm",
    "rewardmachines.lhrm.exploration",
    "rewardmachines.rollout.interaction",
    "rewardmachines.rollout.jax_driver",
    "rewardmachines.rollout.tables",
)
CHECKER = "shapes.checked"

WRONG = """
from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float, Int32


def twice(row: Float[Array, " N"]) -> Float[Array, " N"]:
    return jnp.concatenate([row, row])


def total(row: Float[Array, " N"]) -> Int32[Array, ""]:
    return row.sum()


def product(row: Float[Array, " N"], matrix: Float[Array, "M N"]) -> Float[Array, " N"]:
    return matrix @ row
"""


def test_compiled_modules_keep_what_their_annotations_say() -> None:
    """In a process of its own, because modules are checked only if they are loaded so, and then are slow."""
    packages = ",".join((*CHECKED, CHECKER))
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--jaxtyping-packages={packages}"]
    calls = Path(__file__).with_name("calls.py")
    done = subprocess.run([*command, str(calls)], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr


@pytest.fixture
def wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module whose annotations are wrong, loaded with the checks."""
    (tmp_path / "wrongly_annotated.py").write_text(WRONG)
    monkeypatch.syspath_prepend(tmp_path)
    with install_import_hook("wrongly_annotated", CHECKER):
        return import_module("wrongly_annotated")


def test_wrong_annotations_are_found(wrong: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "wrongly_annotated")
    with pytest.raises(TypeCheckError, match="twice"):
        wrong.twice(jnp.ones(3))
    with pytest.raises(TypeCheckError, match="total"):
        wrong.total(jnp.ones(3))
    assert wrong.product(jnp.ones(3), jnp.ones((3, 3))).shape == (3,)
    with pytest.raises(TypeCheckError, match="product"):
        wrong.product(jnp.ones(3), jnp.ones((2, 3)))


class Row(NamedTuple):
    """A record of two arrays that share an axis."""

    number: Int32[Array, ""]
    values: Float[Array, " N"]
    weights: Float[Array, "N M"]


def test_records_are_compared_with_their_annotations() -> None:
    check_record(Row(jnp.int32(0), jnp.ones(3), jnp.ones((3, 2))))
    check_record(Row(jnp.zeros(5, jnp.int32), jnp.ones((5, 3)), jnp.ones((5, 3, 2))), "B")
    with pytest.raises(TypeError, match=r"Row\.number is float32\[\]"):
        check_record(Row(jnp.float32(0), jnp.ones(3), jnp.ones((3, 2))))
    with pytest.raises(TypeError, match=r"Row\.weights is float32\[2, 2\]"):
        check_record(Row(jnp.int32(0), jnp.ones(3), jnp.ones((2, 2))))
