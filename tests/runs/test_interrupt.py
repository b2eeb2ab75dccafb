"""Ctrl-C takes effect at the end of what must be done as a whole."""

from __future__ import annotations

import os
import signal

import pytest

from rewardmachines.runs.interrupt import defer_interrupt


def _pressed(times: int) -> list[str]:
    """What was still done when Ctrl-C had been pressed so often."""
    done = []

    def work() -> None:
        with defer_interrupt():
            for _ in range(times):
                os.kill(os.getpid(), signal.SIGINT)
            done.append("the rest")

    with pytest.raises(KeyboardInterrupt):
        work()
    return done


def test_ctrl_c_waits_for_the_end_of_a_chunk(capsys: pytest.CaptureFixture[str]) -> None:
    assert _pressed(1) == ["the rest"]
    assert "stopping after this chunk" in capsys.readouterr().err


def test_pressed_twice_it_does_not_wait() -> None:
    assert _pressed(2) == []
