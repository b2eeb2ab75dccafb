"""An episode that is played action by action, and what is shown of it."""

from __future__ import annotations

from rewardmachines.core.events import is_event
from rewardmachines.core.formula import Label
from rewardmachines.core.traversal import HierarchyState
from rewardmachines.envs.domain import Keys, Pixels
from rewardmachines.envs.gymnasium.single import ScenarioEnv
from rewardmachines.envs.hierarchy_text import progress_lines
from rewardmachines.envs.pictures import picture_beside, text_beside
from rewardmachines.envs.scenario import Scenario


class PlayedEpisode:
    """An episode of a Gymnasium environment, filmed if that is asked for."""

    def __init__(self, env: ScenarioEnv, instance: int, *, is_filmed: bool = False) -> None:
        self.env = env
        self.frames: list[Pixels] = []
        """A picture of every moment so far, with the hierarchy beside it; none, if the episode is not filmed."""
        self._instance, self._is_filmed = instance, is_filmed
        self.restart()

    def restart(self) -> None:
        """Begins the episode again, in the same instance; the film goes on."""
        _, info = self.env.reset(options={"instance": self._instance})
        self.steps, self.is_over = 0, False
        self.label: Label = info["label"]
        self.verdict: str = info["verdict"]
        self._film()

    def act(self, action: int) -> bool:
        """Takes an action.

        Returns:
            Whether the label that followed was an event: only then the hierarchy may have moved.
        """
        *_, terminated, truncated, info = self.env.step(action)
        before, self.label = self.label, info["label"]
        self.steps, self.is_over = self.steps + 1, terminated or truncated
        self.verdict = info["verdict"]
        self._film()
        return is_event(before, self.label)

    def _film(self) -> None:
        if self._is_filmed:
            self.frames.append(picture_beside(self.env.scenario, self.env.episode.state, self._lines()))

    @property
    def hierarchy_state(self) -> HierarchyState:
        """Where the hierarchy of the task stands."""
        return self.env.episode.task

    def screen(self) -> str:
        """The environment as text for a terminal, with the hierarchy to its right."""
        return text_beside(self.env.scenario, self.env.episode.state, [*self._lines(), "", f"step {self.steps}"])

    def _lines(self) -> list[str]:
        return progress_lines(self.env.hierarchy, self.hierarchy_state, self.label)


def legend_of(scenario: Scenario) -> str:
    """What the signs on the screen mean, in one line; nothing where the domain does not say."""
    signs = {} if scenario.domain.legend is None else scenario.domain.legend()
    return ", ".join(f"{sign} {meaning}" for sign, meaning in signs.items())


def keys_for(scenario: Scenario) -> Keys:
    """The keys of the domain; where it has none, the digits are the actions, counted from 0."""
    names = scenario.environment.action_names[:10]
    digits = {str(number): number for number in range(len(names))}
    return scenario.domain.keys or Keys(digits, ", ".join(f"{number} {name}" for number, name in enumerate(names)))
