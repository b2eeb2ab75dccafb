"""The command `hrm play`: somebody acts by hand or at random, with the hierarchy beside the picture."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
import tyro

from rewardmachines.cli.domains import DomainChoice, SettingChoice
from rewardmachines.cli.shared import Command, Flag, exists, read_hierarchy, tell
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.core.traversal import Verdict, exit_condition, show_label, verdict_of
from rewardmachines.envs.animation import beside, save_gif, save_picture
from rewardmachines.envs.domain import Keys
from rewardmachines.envs.gymnasium.single import ScenarioEnv
from rewardmachines.envs.pictures import picture, text
from rewardmachines.envs.registry import domain
from rewardmachines.envs.scenario import BASE_SEED, Scenario
from rewardmachines.lowered import lift

_ARROWS: Final = {"A": "up", "B": "down", "C": "right", "D": "left"}
_CLEAR: Final = "\x1b[H\x1b[2J"
_TEXT_WIDTH: Final = 330
_PICTURE: Final = 448


@dataclass(frozen=True)
class Play(Command):
    """Act in a domain and watch the hierarchy move.

    Type keys to act, r to start again, q to leave; --random lets chance act. Without a terminal, chance acts and the
    steps are printed.
    """

    domain: DomainChoice
    """Where to act."""
    setting: SettingChoice = None
    """One of the domain's settings, such as op; its first if not given."""
    task: str | None = None
    """What to do: a task of the domain, such as book, or a machine file."""
    instance: int = 0
    """Which of the ten instances."""
    seed: int | None = None
    """Of the first instance; the paper's first run if not given."""
    random: Flag = False
    """Let chance act."""
    steps: int = 200
    """How long chance acts at most."""
    gif: Annotated[Path | None, tyro.conf.arg(metavar="PATH")] = None
    """Write what happened as a film."""
    png: Annotated[Path | None, tyro.conf.arg(metavar="PATH")] = None
    """Write a picture of the first moment, and do nothing else."""

    def run(self) -> int:
        env = self._environment()
        env.reset(options={"instance": self.instance})
        if self.png is not None:
            save_picture(picture(env.scenario, env.episode.state, size=_PICTURE), self.png)
            tell(f"wrote {self.png}")
            return 0
        env.action_space.seed(0)
        film = _Film(env) if self.gif else None
        by_hand = not self.random and sys.stdin.isatty() and sys.stdout.isatty()
        if by_hand:
            _play(env, film)
        else:
            self._chance(env, film)
        if film is not None and self.gif is not None:
            save_gif(film.frames, self.gif)
            tell(f"wrote {self.gif}")
        return 0

    def _environment(self) -> ScenarioEnv:
        setting = self.setting or domain(self.domain).default_setting
        task: Any = self.task
        if task is not None and (Path(task).suffix or exists(task)):
            task = read_hierarchy(task)
        seed = BASE_SEED if self.seed is None else self.seed
        return ScenarioEnv(self.domain, setting, task, instance=self.instance, base_seed=seed)

    def _chance(self, env: ScenarioEnv, film: _Film | None) -> None:
        if self.steps < 1:
            raise RewardMachineError(f"--steps must be at least 1, not {self.steps}")
        animated = sys.stdout.isatty()
        before: Label = frozenset()
        for step in range(1, self.steps + 1):
            action = int(env.action_space.sample())
            *_, terminated, truncated, info = env.step(action)
            if film is not None:
                film.add()
            if animated:
                print(_CLEAR + _screen(env, step))
            elif info["label"] != before:
                label = show_label(info["label"])
                print(f"step {step}: {env.scenario.environment.action_names[action]}, label {label}, {_where(env)}")
            before = info["label"]
            if terminated or truncated:
                break
        print(f"verdict: {info['verdict']} after {step} steps")


class _Film:
    """The pictures so far, each with the hierarchy beside it."""

    def __init__(self, env: ScenarioEnv) -> None:
        self._env = env
        self.frames: list[np.ndarray[Any, np.dtype[np.uint8]]] = []
        self.add()

    def add(self) -> None:
        pixels = picture(self._env.scenario, self._env.episode.state, size=_PICTURE)
        self.frames.append(beside(pixels, describe(self._env), width=_TEXT_WIDTH))


def describe(env: ScenarioEnv) -> list[str]:
    """Where the hierarchy stands and what would move it, line by line."""
    state = lift(env.lowered, env.hierarchy, env.episode.task)
    label = env.scenario.environment.bits.decode(np.asarray(env.episode.label))
    lines = [f"task: {env.hierarchy.root}", f"label: {show_label(label)}", ""]
    for depth, call in enumerate(state.stack):
        lines.append(f"{'  ' * depth}{call.caller}: {call.source} -> {call.target}")
    lines.append(f"{'  ' * len(state.stack)}{state.machine}: {state.state}")
    said = verdict_of(env.hierarchy, state)
    lines.append("")
    if said is Verdict.NEITHER:
        lines.append("moves on")
        condition = exit_condition(env.hierarchy, state.machine, state.state)
        lines += [f"  {disjunct}" for disjunct in condition.ordered()[:8]]
    else:
        lines.append({Verdict.ACCEPT: "GOAL", Verdict.REJECT: "DEAD END"}[said])
    return lines


def _where(env: ScenarioEnv) -> str:
    state = lift(env.lowered, env.hierarchy, env.episode.task)
    return f"{state.machine} {state.state}"


def _screen(env: ScenarioEnv, step: int) -> str:
    """The picture as text, the hierarchy to its right."""
    left = text(env.scenario, env.episode.state).splitlines()
    right = [*describe(env), "", f"step {step}"]
    plain = text(env.scenario, env.episode.state, colour=False).splitlines()
    width = max(map(len, plain)) + 4
    rows = max(len(left), len(right))
    lines = []
    for i in range(rows):
        gap = width - (len(plain[i]) if i < len(plain) else 0)
        lines.append((left[i] if i < len(left) else "") + " " * gap + (right[i] if i < len(right) else ""))
    return "\n".join(lines)


def _play(env: ScenarioEnv, film: _Film | None) -> None:
    keys = _keys(env.scenario)
    step, over = 0, False
    with _single_keys() as read:
        while True:
            hint = "r: again, q: leave" if over else f"{keys.help}, r: again, q: leave"
            print(_CLEAR + _screen(env, step) + "\n\n" + hint, flush=True)
            key = read()
            if key in ("q", "\x03", "\x04", ""):
                return
            if key == "r":
                env.reset(options={"instance": int(env.episode.state.instance)})
                step, over = 0, False
            elif key in keys.actions and not over:
                *_, terminated, truncated, _ = env.step(keys.actions[key])
                step, over = step + 1, terminated or truncated
            else:
                continue
            if film is not None:
                film.add()


def _keys(place: Scenario) -> Keys:
    """Those of the domain; where it has none, the digits are the actions, from 0."""
    names = place.environment.action_names[:10]
    digits = {str(number): number for number in range(len(names))}
    return place.domain.keys or Keys(digits, ", ".join(f"{number} {name}" for number, name in enumerate(names)))


@contextmanager
def _single_keys() -> Iterator[Callable[[], str]]:
    """A function that waits for one key; the terminal is put back as it was, whatever happens."""
    try:
        import termios
        import tty
    except ImportError:
        raise RewardMachineError("keys can be read on Unix terminals only: use --random") from None
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)

    def read() -> str:
        key = sys.stdin.read(1)
        if key == "\x1b" and sys.stdin.read(1) == "[":
            return _ARROWS.get(sys.stdin.read(1), "")
        return key

    try:
        tty.setcbreak(descriptor)
        yield read
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
