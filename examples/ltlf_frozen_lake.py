"""A task in LTLf on the ice: policies for the task, then its machine and policies from interaction alone.

    python examples/ltlf_frozen_lake.py [SEED]

Fetch the parcel at the hut and bring it home, and keep off the hole. In the second half, an episode still ends when the
formula is decided, but the agent is told no formula: it sees labels and ends.
"""

import sys
import time
from typing import Any

import gymnasium

import rewardmachines as rm
from rewardmachines.envs import HierarchyWrapper, LabelingWrapper

LAKE = ["SFFFF", "FFFFF", "FFHFF", "FFFFF", "FFFFF"]
PLACES = {0: "home", 4: "hut", 20: "buoy", 12: "hole"}
FORMULA = "F(hut & X[!] F home) & G !hole"


def labels(cell: int) -> set[str]:
    return {PLACES[cell]} if cell in PLACES else set()


def make() -> LabelingWrapper:
    lake = gymnasium.make("FrozenLake-v1", desc=LAKE, is_slippery=False, max_episode_steps=100)
    return LabelingWrapper(lake, labels=labels, propositions=PLACES.values())


class Parcel(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Ends with reward 1 when the formula is satisfied, and says nothing of the formula."""

    def __init__(self) -> None:
        super().__init__(HierarchyWrapper(make(), rm.compile_ltlf(FORMULA, propositions=PLACES.values())))

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        cell, reward, is_over, is_cut, _ = self.env.step(action)
        return cell, reward, is_over, is_cut, {}


def make_parcel() -> LabelingWrapper:
    return LabelingWrapper(Parcel(), labels=labels, propositions=PLACES.values())


if __name__ == "__main__":
    began, seed = time.monotonic(), int(sys.argv[1]) if sys.argv[1:] else 0
    run = rm.train(make, f"ltlf: {FORMULA}", seed=seed, steps=60_000)
    (greedy,) = run.evaluate()
    print(f"given: at the goal in {greedy.mean_return:.0%} of greedy episodes")
    learned = rm.learn(make_parcel, seed=seed, steps=200_000)
    (greedy,) = learned.evaluate()
    print(f"learned: at the goal in {greedy.mean_return:.0%} of greedy episodes")
    print(rm.explain(learned.hierarchy("parcel")))
    print(*learned.missing.values(), f"in {time.monotonic() - began:.0f} seconds", sep="\n")
