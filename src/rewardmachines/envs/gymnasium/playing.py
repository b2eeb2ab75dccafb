"""An episode that is played action by action, and its screen."""

from __future__ import annotations

from functools import partial

from rewardmachines.core.events import is_event
from rewardmachines.core.formula import Label
from rewardmachines.core.traversal import HierarchyState, verdict_of
from rewardmachines.envs.domain import Keys
from rewardmachines.envs.filming import Caption, Film, Shot
from rewardmachines.envs.gymnasium.single import ScenarioEnv
from rewardmachines.envs.hierarchy_text import ENDS, progress_lines, what_moves_on
from rewardmachines.envs.pictures import PICTURE_SIZE, picture, text_beside
from rewardmachines.envs.scenarios import Scenario


class PlayedEpisode:
    """An episode of a Gymnasium environment, filmed if that is asked for."""

    def __init__(self, env: ScenarioEnv, instance: int, *, is_filmed: bool = False) -> None:
        self.env = env
        self._shots: list[Shot] = []
        self._instance, self._is_filmed = instance, is_filmed
        self.restart()

    def restart(self) -> None:
        """Begins the episode again, in the same instance; the film goes on."""
        _, info = self.env.reset(options={"instance": self._instance})
        self.steps, self.is_over = 0, False
        self.label: Label = info["label"]
        self.verdict: str = info["verdict"]
        self._film(0.0)

    def act(self, action: int) -> bool:
        """Takes an action.

        Returns:
            Whether the label that followed was an event: only then the hierarchy may have moved.
        """
        _, reward, terminated, truncated, info = self.env.step(action)
        before, self.label = self.label, info["label"]
        self.steps, self.is_over = self.steps + 1, terminated or truncated
        self.verdict = info["verdict"]
        self._film(float(reward))
        return is_event(before, self.label)

    def _film(self, reward: float) -> None:
        """Records the moment that a step led to, with the reward of the step, if the episode is filmed."""
        if not self._is_filmed:
            return
        hierarchy, state = self.env.hierarchy, self.hierarchy_state
        end = ENDS.get(verdict_of(hierarchy, state), "")
        caption = Caption(
            task=hierarchy.root,
            step=self.steps,
            label=self.label,
            reward=reward,
            pursued=() if end else (what_moves_on(hierarchy, state),),
            verb="moves on:",
            end=end or ("out of steps" if self.is_over else ""),
        )
        world = partial(picture, self.env.scenario, self.env.episode.state, size=PICTURE_SIZE)
        self._shots.append(Shot(world, state, caption))

    @property
    def film(self) -> Film:
        """Every moment so far; none, if the episode is not filmed."""
        return Film(self.env.hierarchy, tuple(self._shots))

    @property
    def hierarchy_state(self) -> HierarchyState:
        """The hierarchy state of the task."""
        return self.env.episode.task

    def screen(self) -> str:
        """The environment as text for a terminal, with the hierarchy to its right."""
        return text_beside(self.env.scenario, self.env.episode.state, [*self._lines(), "", f"step {self.steps}"])

    def _lines(self) -> list[str]:
        return progress_lines(self.env.hierarchy, self.hierarchy_state, self.label)


def legend_of(scenario: Scenario) -> str:
    """The legend of the screen in one line; empty if the domain has none."""
    signs = {} if scenario.domain.legend is None else scenario.domain.legend()
    return ", ".join(f"{sign} {meaning}" for sign, meaning in signs.items())


def keys_for(scenario: Scenario) -> Keys:
    """The keys of the domain; where it has none, the digits are the actions, counted from 0."""
    names = scenario.environment.action_names[:10]
    digits = {str(number): number for number in range(len(names))}
    return scenario.domain.keys or Keys(digits, ", ".join(f"{number} {name}" for number, name in enumerate(names)))
