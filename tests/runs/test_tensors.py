"""Files of arrays that are damaged are named, and trees of arrays are made without compiling anything."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.runs.tensors import read_arrays, with_zeros, write_arrays


def test_notes_that_are_no_json_are_named(tmp_path: Path) -> None:
    write_arrays(tmp_path / "x", {"a": np.zeros(1)}, {"chunks": 1})
    data = (tmp_path / "x").read_bytes()
    (tmp_path / "x").write_bytes(data.replace(b'{\\"chunks\\": 1}', b'{\\"chunks\\": ?}'))
    with pytest.raises(RewardMachineError, match="its notes are not JSON"):
        read_arrays(tmp_path / "x")


def test_zeros_for_shapes_need_no_program(caplog: pytest.LogCaptureFixture) -> None:
    shapes = jax.eval_shape(lambda: {size: jnp.zeros((size, 3), jnp.int16) for size in (1_231, 1_237)})
    with jax.log_compiles():
        made = with_zeros({**shapes, 0: jax.device_put(np.int32(5))})
    assert not [record for record in caplog.records if "XLA compilation" in record.getMessage()]
    assert [(made[size].shape, made[size].dtype, int(made[size].sum())) for size in shapes] == [
        ((size, 3), np.int16, 0) for size in shapes
    ]
    assert int(made[0]) == 5
