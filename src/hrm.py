"""The program `hrm`. Ctrl-C ends it from the first moment on: this comes before anything is loaded."""

import os
import signal
import sys
from typing import NoReturn


def _end(*_: object) -> NoReturn:
    os._exit(130)


def end_on_interrupt() -> None:
    """Lets Ctrl-C end the process, where it would raise an exception."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def main() -> int:
    """Runs `hrm` and returns its exit status."""
    end_on_interrupt()
    try:
        from rewardmachines.cli import main as run
    except ImportError as problem:
        if sys.version_info < (3, 11):  # noqa: UP036 (which the package refuses)
            print(problem, file=sys.stderr)
            return 2
        raise
    return run()


if __name__ == "__main__":
    sys.exit(main())
