"""The command `hrm evaluate`: the policies of a run act greedily, and are filmed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.table import Table

from rewardmachines.agents.gymnasium.runs.run import TrainGymnasiumRun
from rewardmachines.agents.training.run import Evaluation, TrainRun
from rewardmachines.cli.arguments.evaluate import EvaluateArguments
from rewardmachines.cli.progress.train import bars
from rewardmachines.cli.run_options import find_modules_here, prepare_device
from rewardmachines.cli.shared import Command, console, loading, tell, write_json
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.filming import check_film_path
from rewardmachines.lhrm.gymnasium_runs.run import GymnasiumRun
from rewardmachines.lhrm.policies import TaskEvaluation
from rewardmachines.lhrm.run import LearnRun
from rewardmachines.reports.any_run import AnyRun, load_any_run
from rewardmachines.reports.hardest_task import hardest_task
from rewardmachines.runs.records import to_plain

MANY: Final = 40
"""With more instances, each of them is not shown."""

if TYPE_CHECKING:
    from rewardmachines.reports.film import FilmedEpisode


@dataclass(frozen=True)
class Evaluate(EvaluateArguments, Command):
    """Let the policies of a run act greedily, once in every instance."""

    def run(self) -> int:
        if self.gif is not None:
            check_film_path(self.gif)
        with loading(f"loading {self.folder} …", quiet=self.quiet):
            prepare_device()
            run = load_any_run(self.folder)
        if self.best and not isinstance(run, (GymnasiumRun, TrainGymnasiumRun)):
            raise RewardMachineError(f"{self.folder}: only runs in environments of your own keep their best policies")
        if (self.instances, self.instance_seed) != (None, None) and not isinstance(run, (TrainRun, LearnRun)):
            raise RewardMachineError(f"{self.folder}: an environment of your own has no other instances to act in")
        with loading(f"{self.folder}: compiling, and acting in every instance …", quiet=self.quiet):
            evaluations = self._evaluations(run)
        if self.json:
            write_json([to_plain(evaluation) for evaluation in evaluations])
        else:
            console().print(_table(evaluations))
        if self.gif is not None:
            film = self._film(run)
            film.save(self.gif)
            tell(f"wrote {self.gif}: {film.steps} steps, {film.end}")
        return 0

    def _evaluations(self, run: AnyRun) -> Sequence[Evaluation | TaskEvaluation]:
        """Evaluates each seed of a training run, or each chosen task of a run that learned machines."""
        if isinstance(run, (GymnasiumRun, TrainGymnasiumRun)):
            find_modules_here()
        if isinstance(run, (TrainRun, TrainGymnasiumRun)):
            if self.task not in (None, run.spec.task):
                raise RewardMachineError(f"{self.folder}: this run is about '{run.spec.task}', not '{self.task}'")
            if isinstance(run, TrainRun):
                return run.evaluate(self.instances, self.instance_seed)
            if self.seed not in (None, run.spec.seed):
                raise RewardMachineError(f"{self.folder}: there is no seed {self.seed}; there is {run.spec.seed}")
            return run.evaluate(best=self.best)
        if self.seed is not None:
            made_by = "'hrm learn'" if isinstance(run, LearnRun) else "'rm.learn_gymnasium'"
            raise RewardMachineError(f"{self.folder}: a run of {made_by} has one seed; choose a --task instead")
        if self.task is not None:
            run.check_task(self.task)
        every = (
            run.evaluate(self.instances, self.instance_seed) if isinstance(run, LearnRun)
            else run.evaluate(best=self.best)
        )  # fmt: skip
        evaluations = [evaluation for evaluation in every if self.task in (None, evaluation.task)]
        if not evaluations:
            whom = "any task" if self.task is None else f"'{self.task}'"
            raise RewardMachineError(f"{self.folder}: there is no machine for {whom} yet")
        return evaluations

    def _film(self, run: AnyRun) -> FilmedEpisode:
        """Films one greedy episode."""
        from rewardmachines.reports.film import film_episode
        from rewardmachines.reports.gymnasium_film import film_gymnasium

        count, first = self.instances, self.instance_seed
        if isinstance(run, TrainRun):
            task, seed = run.spec.task, self.seed
            shown = run.environment(self.instance, seed=seed, instances=count, instance_seed=first)
            return film_episode(shown, run.policy(task, seed), task)
        where = str(self.folder)
        if isinstance(run, TrainGymnasiumRun):
            policy = run.policy(best=self.best, encode=run.spec.senses.encode(where))
            return film_gymnasium(
                run.spec.make_env(where), policy, run.hierarchy, run.spec.task, is_task=True, seed=self.instance
            )
        chosen = self.task or hardest_task(run)
        if chosen is None:
            raise RewardMachineError(f"{self.folder}: there is nothing to film: every task was given up")
        if isinstance(run, LearnRun):
            shown = run.environment(chosen, self.instance, instances=count, instance_seed=first)
            return film_episode(shown, run.policy(chosen), chosen)
        made = next(task.make_env for task in run.spec.gym_tasks(where) if task.name == chosen)
        policy = run.policies(best=self.best, encode=run.spec.senses.encode(where)).policy(chosen)
        tree = run.hierarchies()[chosen].rooted(chosen)
        return film_gymnasium(made, policy, tree, chosen, is_task=False, seed=self.instance)


def _table(evaluations: Sequence[Evaluation | TaskEvaluation]) -> Table:
    """Makes a row for each evaluation: its mean return, and a bar and a length for each instance, unless many."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    of_tasks = any(isinstance(evaluation, TaskEvaluation) for evaluation in evaluations)
    are_many = any(len(evaluation.returns) > MANY for evaluation in evaluations)
    table.add_column("task" if of_tasks else "seed", justify="left" if of_tasks else "right")
    table.add_column("return", justify="right")
    for name in ("instances", "without success", "mean length") if are_many else ("instances", "lengths"):
        table.add_column(name, justify="right" if are_many else "left")
    for evaluation in evaluations:
        name = evaluation.task if isinstance(evaluation, TaskEvaluation) else str(evaluation.seed)
        returns, lengths = evaluation.returns, evaluation.lengths
        mean = f"{sum(returns) / len(returns):.3f}" if are_many else f"{sum(returns) / len(returns):.2f}"
        if are_many:
            failed = sum(each <= 0 for each in returns)
            table.add_row(name, mean, f"{len(returns):,}", f"{failed:,}", f"{sum(lengths) / len(lengths):.0f}")
        else:
            table.add_row(name, mean, bars(returns), " ".join(map(str, lengths)))
    return table
