"""The program `hrm`. Ctrl-C ends it from the first moment on: this comes before anything is loaded."""

import os
import signal
import sys
from typing import NoReturn


def _end(*_: object) -> NoReturn:
    os._exit(130)


def main() -> int:
    """Runs `hrm` and returns its exit status."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    from rewardmachines.cli import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
