"""DoorKey of XLand-MiniGrid, a suite that somebody else wrote as pure functions: one compiled program learns in it.

    python examples/xland.py [SEED]

Needs `pip install 'rewardmachines[xland]'`. The task is that of minigrid_doorkey.py, in ten grids of the suite.
"""

import sys
import tempfile
import time
from collections.abc import Sequence

import rewardmachines as rm
from rewardmachines.agents.training.rows import Row
from rewardmachines.envs.xland.domain import xland_domain

DOORKEY = xland_domain(
    "doorkey",
    "DoorKey",
    settings={"5x5": "MiniGrid-DoorKey-5x5"},
    propositions={"key": "key-carried", "door": "door-open", "goal": "goal-here"},
    tasks={"leave": "key ; door ; goal"},
)


def report(rows: Sequence[Row]) -> None:
    print(f"{rows[0].steps:7,} steps, {rows[0].episodes:5,} episodes, {rows[0].goals} goals in the last chunk")


if __name__ == "__main__":
    began, seed = time.monotonic(), int(sys.argv[1]) if sys.argv[1:] else 0
    rm.register_domain(DOORKEY)
    spec = rm.standard_spec("doorkey", "5x5", "leave", seed=seed, max_steps=250)
    with tempfile.TemporaryDirectory() as folder:
        run = rm.train(f"{folder}/run", spec, steps=200_000, stop_at=0.95, callbacks=[report])
        returns = run.evaluate()[0].returns
    print(f"mean greedy return: {sum(returns) / len(returns):.2f} in {len(returns)} grids")
    print(f"in {time.monotonic() - began:.0f} seconds")
