"""Files of arrays that are damaged are named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.runs.tensors import read_arrays, write_arrays


def test_notes_that_are_no_json_are_named(tmp_path: Path) -> None:
    write_arrays(tmp_path / "x", {"a": np.zeros(1)}, {"chunks": 1})
    data = (tmp_path / "x").read_bytes()
    (tmp_path / "x").write_bytes(data.replace(b'{\\"chunks\\": 1}', b'{\\"chunks\\": ?}'))
    with pytest.raises(RewardMachineError, match="notes: damaged, this is not JSON"):
        read_arrays(tmp_path / "x")
