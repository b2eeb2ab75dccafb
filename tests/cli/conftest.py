"""What tests of all commands use."""

from __future__ import annotations

import pytest

from cli.commands import Hrm


@pytest.fixture
def hrm(capsys: pytest.CaptureFixture[str]) -> Hrm:
    return Hrm(capsys)
