"""The command `hrm play`: somebody acts by hand or at random, with the hierarchy beside the picture."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rewardmachines.cli.arguments.play import PlayArguments
from rewardmachines.cli.keyboard import LEAVE, single_keys
from rewardmachines.cli.shared import Command, escaped, exists, read_hierarchy, say, tell
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import show_label
from rewardmachines.envs.filming import check_film_path
from rewardmachines.envs.gymnasium.playing import PlayedEpisode, keys_for, legend_of
from rewardmachines.envs.gymnasium.single import ScenarioEnv
from rewardmachines.envs.pictures import PICTURE_SIZE, picture, save_picture
from rewardmachines.envs.registry import domain
from rewardmachines.envs.scenario import BASE_SEED

_CLEAR: Final = "\x1b[H\x1b[2J"


@dataclass(frozen=True)
class Play(PlayArguments, Command):
    """Act in a domain and watch the hierarchy move."""

    def run(self) -> int:
        if self.gif is not None:
            check_film_path(self.gif)
        episode = PlayedEpisode(self._environment(), self.instance, is_filmed=self.gif is not None)
        if self.png is not None:
            save_picture(picture(episode.env.scenario, episode.env.episode.state, size=PICTURE_SIZE), self.png)
            tell(f"wrote {self.png}")
            return 0
        if not self.random and sys.stdin.isatty() and sys.stdout.isatty():
            _play_by_hand(episode)
        else:
            self._play_at_random(episode)
        if self.gif is not None:
            episode.film.save(self.gif)
            tell(f"wrote {self.gif}")
        return 0

    def _environment(self) -> ScenarioEnv:
        setting = self.setting or domain(self.domain).default_setting
        task: str | Hierarchy | None = self.task
        if self.task is not None and (Path(self.task).suffix or exists(self.task)):
            task = read_hierarchy(self.task)
        seed = BASE_SEED if self.seed is None else self.seed
        return ScenarioEnv(self.domain, setting, task, instance=self.instance, base_seed=seed)

    def _play_at_random(self, episode: PlayedEpisode) -> None:
        """Shows every step in a terminal, and prints label events where there is none."""
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
    keys, legend = keys_for(episode.env.scenario), legend_of(episode.env.scenario)
    with single_keys() as read_key:
        while True:
            hint = "r: again, q: leave" if episode.is_over else f"{keys.help}, r: again, q: leave"
            print(_CLEAR + escaped(episode.screen(), "\n") + f"\n\n{hint}\n{legend}", flush=True)
            key = read_key()
            if key in LEAVE:
                return
            if key == "r":
                episode.restart()
            elif key in keys.actions and not episode.is_over:
                episode.act(keys.actions[key])
