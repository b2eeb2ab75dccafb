"""What tests of agents use."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("agents.walks")  # it compares, for several tests
