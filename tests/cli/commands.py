"""Running commands in tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from rewardmachines.cli import main


class Hrm:
    """Runs a command and keeps what it said."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self._capture = capture
        self.out = self.err = ""

    def __call__(self, *arguments: object) -> int:
        self._capture.readouterr()
        try:
            status = main([str(a) for a in arguments])
        except SystemExit as leaving:
            status = int(leaving.code or 0)
        self.out, self.err = self._capture.readouterr()
        return status

    def check_refused(self, arguments: Sequence[object], message: str) -> None:
        """Checks that a command is a mistake: it gets one line with this message, and exit status 2."""
        assert self(*arguments) == 2
        assert message in self.err
        assert self.err.startswith("hrm: ")
        assert self.err.count("\n") == 1

    def json(self, *arguments: object) -> Any:
        self(*arguments, "--json")
        return json.loads(self.out)
