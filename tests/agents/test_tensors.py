"""Files of arrays that are damaged are named, and trees of arrays are made without compiling anything."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rewardmachines.agents.tensors import read_arrays, with_zeros, write_arrays
from rewardmachines.core.errors import RewardMachineError


def test_notes_that_are_no_json_are_named(tmp_path: Path) -> None:
    write_arrays(tmp_path / "x", {"a": np.zeros(1)}, {"chunks": 1})
    data = (tmp_path / "x").read_bytes()
    (tmp_path / "x").write_bytes(data.replace(b'{\\"chunks\\": 1}', b'{\\"chunks\\": ?}'))
    with pytest.raises(RewardMachineError, match="notes: damaged, this is not JSON"):
        read_arrays(tmp_path / "x")


def test_zeros_for_shapes_need_no_program(caplog: pytest.LogCaptureFixture) -> None:
    shapes = {size: jax.ShapeDtypeStruct((size, 3), np.int16) for size in (1_231, 1_237)}  # type: ignore[no-untyped-call]
    five = jnp.int32(5)
    with jax.log_compiles():
        made = with_zeros({**shapes, 0: five})
    assert not [record for record in caplog.records if "XLA compilation" in record.getMessage()]
    assert [(made[size].shape, made[size].dtype, int(made[size].sum())) for size in shapes] == [
        ((size, 3), np.int16, 0) for size in shapes
    ]
    assert int(made[0]) == 5
