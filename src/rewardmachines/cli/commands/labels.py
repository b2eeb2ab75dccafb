"""The command `hrm labels`: random episodes tell what an environment shows."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any, Final

import gymnasium
import tyro
from rich.progress import track
from rich.table import Table

from rewardmachines.agents.training.spec import check_seed
from rewardmachines.cli.domains import load_offered_domains
from rewardmachines.cli.shared import Command, Flag, console, read_hierarchy, write_json
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.core.traversal import show_label
from rewardmachines.envs import IDS

_ENV_HELP: Final = f"A Gymnasium id, such as {next(iter(IDS))}, or MODULE:FUNCTION that makes the environment."


@dataclass(frozen=True)
class Labels(Command):
    """Run random episodes and report which propositions and labels occur, and how often.

    The environment must be labelled: built in, or wrapped in LabelingWrapper. A proposition that a hierarchy needs and
    that no episode showed is pointed out.
    """

    env: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="ENV", help=_ENV_HELP)]
    episodes: int = 20
    """How many to run."""
    max_steps: int = 1000
    """Where to cut an episode that does not end."""
    hierarchy: Annotated[str | None, tyro.conf.arg(metavar="FILE")] = None
    """Whose propositions to look for; those of the environment's task if it has one."""
    seed: int = 0
    """Of the first episode; the others follow."""
    json: Flag = False
    """Print JSON."""

    def run(self) -> int:
        if self.episodes < 1 or self.max_steps < 1:
            raise RewardMachineError("at least one episode and one step are needed")
        check_seed(self.seed, self.episodes)
        env = _make(self.env)
        propositions = _propositions(env, self.env)
        tally = _Tally()
        env.action_space.seed(self.seed)
        numbers = range(self.seed, self.seed + self.episodes)
        for seed in track(numbers, "episodes", disable=not sys.stderr.isatty(), transient=True):
            _run_episode(env, seed, self.max_steps, tally)
        needed = self._needed(env)
        if self.json:
            write_json(tally.plain(propositions, needed))
        else:
            tally.print(propositions, needed)
        return 0

    def _needed(self, env: gymnasium.Env[Any, Any]) -> list[str]:
        """The propositions that the task mentions."""
        if self.hierarchy is not None:
            tree = read_hierarchy(self.hierarchy)
        elif env.has_wrapper_attr("hierarchy"):
            tree = env.get_wrapper_attr("hierarchy")
        else:
            return []
        return sorted({p for machine in tree.reachable() for p in machine.propositions})


class _Tally:
    """What was seen so far."""

    def __init__(self) -> None:
        self.steps: Counter[Label] = Counter()
        self.events: Counter[Label] = Counter()
        self.episodes: Counter[Label] = Counter()
        self.episode_count = 0

    def add(self, word: list[Label]) -> None:
        self.episode_count += 1
        self.steps.update(word)
        self.events.update(x for i, x in enumerate(word) if i == 0 or x != word[i - 1])
        self.episodes.update(set(word))

    def of(self, proposition: str, counts: Counter[Label]) -> int:
        return sum(count for label, count in counts.items() if proposition in label)

    def missing(self, propositions: list[str]) -> list[str]:
        return [p for p in propositions if not self.of(p, self.steps)]

    def plain(self, propositions: tuple[str, ...], needed: list[str]) -> dict[str, Any]:
        return {
            "episodes": self.episode_count,
            "steps": sum(self.steps.values()),
            "propositions": {
                p: {"steps": self.of(p, self.steps), "events": self.of(p, self.events)} for p in propositions
            },
            "labels": [
                {"label": sorted(label), "steps": count, "events": self.events[label], "episodes": self.episodes[label]}
                for label, count in self.steps.most_common()
            ],
            "never_seen": self.missing(list(propositions)),
            "needed_but_never_seen": self.missing(needed),
        }

    def print(self, propositions: tuple[str, ...], needed: list[str]) -> None:
        total = sum(self.steps.values())
        table = Table(
            "proposition", "steps", "share", "events", "", title=f"{self.episode_count} episodes, {total} labels"
        )
        for p in propositions:
            steps = self.of(p, self.steps)
            remark = "" if steps else "needed, but never seen" if p in needed else "never seen"
            table.add_row(p, str(steps), f"{100 * steps / total:.1f} %", str(self.of(p, self.events)), remark)
        console().print(table)
        table = Table("label", "steps", "share", "events", "episodes")
        for label, count in self.steps.most_common(20):
            row = (count, f"{100 * count / total:.1f} %", self.events[label], self.episodes[label])
            table.add_row(show_label(label), *map(str, row))
        console().print(table)
        if len(self.steps) > 20:
            print(f"and {len(self.steps) - 20} rarer labels (--json lists them all)")
        if missing := [p for p in needed if p not in propositions]:
            print(f"the environment does not know {', '.join(missing)}: the task can never be done")
        elif missing := self.missing(needed):
            print(
                f"never seen, though the task needs it: {', '.join(missing)}; try more --episodes, or check the labels"
            )


def _run_episode(env: gymnasium.Env[Any, Any], seed: int, max_steps: int, tally: _Tally) -> None:
    _, info = env.reset(seed=seed)
    word: list[Label] = [info["label"]]
    for _ in range(max_steps):
        *_, terminated, truncated, info = env.step(env.action_space.sample())
        word.append(info["label"])
        if terminated or truncated:
            break
    tally.add(word)


def _make(name: str) -> gymnasium.Env[Any, Any]:
    module, colon, function = name.partition(":")
    if colon and "/" not in name:
        return _make_own(module, function)
    if name.startswith("rewardmachines/") and name not in gymnasium.registry:
        load_offered_domains()
    try:
        return gymnasium.make(name)
    except (gymnasium.error.Error, ImportError, TypeError, ValueError) as problem:
        raise RewardMachineError(f"{name}: {problem}") from None


def _make_own(module: str, function: str) -> gymnasium.Env[Any, Any]:
    if not all(part.isidentifier() for part in (*module.split("."), function)):
        raise RewardMachineError(f"{module}:{function}: write MODULE:FUNCTION, such as mine:make for make() of mine.py")
    sys.path.insert(0, "")
    try:
        env = getattr(import_module(module), function)()
    except (ImportError, AttributeError) as problem:
        raise RewardMachineError(f"{module}:{function} cannot be imported: {problem}") from None
    finally:
        sys.path.remove("")
    if not isinstance(env, gymnasium.Env):
        raise RewardMachineError(f"{module}:{function}() gave {type(env).__name__}, not a Gymnasium environment")
    return env


def _propositions(env: gymnasium.Env[Any, Any], name: str) -> tuple[str, ...]:
    if not env.has_wrapper_attr("propositions"):
        raise RewardMachineError(
            f"{name} is not labelled: wrap it in LabelingWrapper(env, labels=..., propositions=[...]) in a function of "
            "yours, and give MODULE:FUNCTION"
        )
    return tuple(env.get_wrapper_attr("propositions"))
