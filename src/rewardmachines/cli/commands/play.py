"""The command `hrm play`: acting by hand or at random, with the hierarchy beside the picture."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

import tyro

from rewardmachines.cli.domains import DomainChoice, SettingChoice
from rewardmachines.cli.shared import Command, Flag, escaped, exists, log, read_hierarchy, say
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.traversal import show_label

if TYPE_CHECKING:
    from rewardmachines.core.hierarchy import Hierarchy
    from rewardmachines.envs.gymnasium.playing import PlayedEpisode
    from rewardmachines.envs.gymnasium.single import ScenarioEnv

_CLEAR: Final = "\x1b[H\x1b[2J"
_LEAVE: Final = ("q", "\x03", "\x04", "")
"""Keys that leave: the letter, Ctrl-C, Ctrl-D, and the end of the input."""
_ARROWS: Final = {"A": "up", "B": "down", "C": "right", "D": "left"}


@dataclass(frozen=True)
class Play(Command):
    """Act in a domain and watch the hierarchy move.

    Type keys to act, r to start again, q to leave; --random lets chance act. The screen says which keys there are and
    what its signs mean. Without a terminal, chance acts and the steps are printed.
    """

    loads: ClassVar[tuple[str, ...]] = ("rewardmachines.envs.gymnasium.playing",)

    domain: DomainChoice
    setting: SettingChoice = None
    task: Annotated[str | None, tyro.conf.arg(metavar="TASK")] = None
    """The task: one of the domain, such as book, or a machine file."""
    instance: int = 0
    """The number of the instance, of ten."""
    seed: int | None = None
    """The seed of the first instance; that of the paper's first run if not given."""
    random: Flag = False
    """Act at random."""
    steps: Annotated[int, tyro.conf.arg(metavar="STEPS")] = 200
    """The largest number of random steps."""
    gif: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="PATH")] = None
    """Write what happened as a film: a .gif, an .html that can be paused, or with FFmpeg an .mp4 or .webm."""
    png: Annotated[Path | None, tyro.conf.arg(metavar="PATH")] = None
    """Write a picture of the first moment, and do nothing else."""

    def run(self) -> int:
        from rewardmachines.envs.filming import check_film_path
        from rewardmachines.envs.gymnasium.playing import PlayedEpisode
        from rewardmachines.envs.pictures import PICTURE_SIZE, picture, save_picture

        if self.gif is not None:
            check_film_path(self.gif)
        episode = PlayedEpisode(self._environment(), self.instance, is_filmed=self.gif is not None)
        if self.png is not None:
            save_picture(picture(episode.env.scenario, episode.env.episode.state, size=PICTURE_SIZE), self.png)
            log(f"wrote {self.png}")
            return 0
        if not self.random and sys.stdin.isatty() and sys.stdout.isatty():
            _play_by_hand(episode)
        else:
            self._play_at_random(episode)
        if self.gif is not None:
            episode.film.save(self.gif)
            log(f"wrote {self.gif}")
        return 0

    def _environment(self) -> ScenarioEnv:
        from rewardmachines.envs.gymnasium.single import ScenarioEnv
        from rewardmachines.envs.registry import domain
        from rewardmachines.envs.scenarios import BASE_SEED

        setting = self.setting or domain(self.domain).default_setting
        task: str | Hierarchy | None = self.task
        if self.task is not None and (Path(self.task).suffix or exists(self.task)):
            task = read_hierarchy(self.task)
        seed = BASE_SEED if self.seed is None else self.seed
        return ScenarioEnv(self.domain, setting, task, instance=self.instance, base_seed=seed)

    def _play_at_random(self, episode: PlayedEpisode) -> None:
        """Shows every step in a terminal, and prints label events where there is none."""
        from rewardmachines.envs.gymnasium.playing import legend_of

        if self.steps < 1:
            raise RewardMachineError(f"--steps must be at least 1, not {self.steps}")
        is_terminal, legend = sys.stdout.isatty(), legend_of(episode.env.scenario)
        actions = episode.env.action_space
        actions.seed(0)
        while not episode.is_over and episode.steps < self.steps:
            action = int(actions.sample())
            is_event = episode.act(action)
            if is_terminal:
                print(_CLEAR + escaped(episode.screen(), "\n") + f"\n\n{legend}")
            elif is_event:
                say(_event(episode, action))
        say(f"verdict: {episode.verdict} after {episode.steps} steps")


def _event(episode: PlayedEpisode, action: int) -> str:
    state = episode.hierarchy_state
    name = episode.env.scenario.environment.action_names[action]
    return f"step {episode.steps}: {name}, label {show_label(episode.label)}, {state.machine} {state.state}"


def _play_by_hand(episode: PlayedEpisode) -> None:
    from rewardmachines.envs.gymnasium.playing import keys_for, legend_of

    keys, legend = keys_for(episode.env.scenario), legend_of(episode.env.scenario)
    with _single_keys() as read_key:
        while True:
            hint = "r: again, q: leave" if episode.is_over else f"{keys.help}, r: again, q: leave"
            print(_CLEAR + escaped(episode.screen(), "\n") + f"\n\n{hint}\n{legend}", flush=True)
            key = read_key()
            if key in _LEAVE:
                return
            if key == "r":
                episode.restart()
            elif key in keys.actions and not episode.is_over:
                episode.act(keys.actions[key])


@contextmanager
def _single_keys() -> Iterator[Callable[[], str]]:
    """A function that waits for one key; the terminal is put back as it was, whatever happens.

    Raises:
        RewardMachineError: The system has no such terminals.
    """
    try:
        import termios  # on Unix only
        import tty
    except ImportError:
        raise RewardMachineError("keys can be read on Unix terminals only: use --random") from None
    descriptor = sys.stdin.fileno()
    settings = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        yield _read_key
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, settings)


def _read_key() -> str:
    key = sys.stdin.read(1)
    if key == "\x1b" and sys.stdin.read(1) == "[":
        return _ARROWS.get(sys.stdin.read(1), "")
    return key
