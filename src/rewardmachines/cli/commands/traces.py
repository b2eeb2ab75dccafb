"""The command `hrm traces`: random episodes become traces to learn from."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated

import tyro
from rich.progress import Progress as Bar

from rewardmachines.cli.domains import DomainChoice, SettingChoice
from rewardmachines.cli.shared import Command, Flag, Output, SafeConsole, log, read_hierarchy, write_text
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.files import dump_traces
from rewardmachines.traces import Outcome, Trace


@dataclass(frozen=True)
class Traces(Command):
    """Record traces of a task: random episodes in a domain, as label events with their outcome."""

    domain: DomainChoice
    setting: SettingChoice = None
    task: Annotated[str | None, tyro.conf.arg(metavar="TASK")] = None
    """The task: one of the domain, such as book, or a machine file."""
    episodes: int = 200
    """The number of traces, instance after instance."""
    goals: Flag = False
    """Keep only those that reach the goal."""
    walker: Annotated[str, tyro.conf.arg(metavar="random|guided")] = "random"
    """The behaviour policy: random, or a walker that heads for a random or needed proposition most of the time."""
    seed: int = 0
    """The seed of the random actions."""
    output: Output = None
    """The file to write; standard output if not given."""

    def run(self) -> int:
        from rewardmachines.envs.recording import Recorder, Walker
        from rewardmachines.envs.registry import domain
        from rewardmachines.envs.scenarios import scenario
        from rewardmachines.runs.seeds import check_seed

        if self.episodes < 1:
            raise RewardMachineError(f"at least one episode is needed, not {self.episodes}")
        check_seed(self.seed)
        if self.walker not in [w.value for w in Walker]:
            raise RewardMachineError(f"the walker is one of {', '.join(w.value for w in Walker)}, not '{self.walker}'")
        known = domain(self.domain)
        chosen = scenario(known.name, self.setting or known.default_setting)
        name = self.task or known.default_task
        tree = read_hierarchy(name) if Path(name).suffix else chosen.task(name)
        recorder = Recorder(chosen, tree, Walker(self.walker), self.seed)
        traces = list(self._watched(islice(recorder.traces(), self.episodes)))
        counts = {outcome: sum(t.outcome is outcome for t in traces) for outcome in Outcome}
        log(", ".join(f"{count} {outcome.value}" for outcome, count in counts.items()))
        kept = [t for t in traces if t.outcome is Outcome.GOAL] if self.goals else traces
        write_text(dump_traces(kept), self.output)
        return 0

    def _watched(self, traces: Iterator[Trace]) -> Iterator[Trace]:
        with Bar(console=SafeConsole(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
            yield from bar.track(traces, total=self.episodes, description="episodes")
