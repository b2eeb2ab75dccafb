"""Processes that know the package, and nothing of the tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_STRANGER = """
import sys
from rewardmachines import load_policy
policy = load_policy(sys.argv[1], "ab", best=sys.argv[2] == "best")
policy.reset(set())
print(policy.act(3, set()))
assert not [name for name in sys.modules if "yards" in name]
"""


def action_of_policy(run: Path, elsewhere: Path, *, best: bool = False) -> int:
    """The action that the policy of a run takes in cell 3 of a yard, in a process without the code that trained it.

    Args:
        run: The folder of the run.
        elsewhere: The folder in which the process runs.
        best: Whether to load the best policy instead of the last.
    """
    done = subprocess.run(
        [sys.executable, "-c", _STRANGER, str(run), "best" if best else "last"],
        check=False,
        cwd=elsewhere,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "importing" not in done.stderr
    return int(done.stdout)
