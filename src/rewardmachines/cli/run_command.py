"""The common part of `hrm train` and `hrm learn`: most of their arguments, and the execution of runs."""

from __future__ import annotations

import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal

import tyro

from rewardmachines.agents.choices import Preset
from rewardmachines.cli.device import find_modules_here, prepare_device
from rewardmachines.cli.displays import Phases
from rewardmachines.cli.domains import SettingChoice
from rewardmachines.cli.numbers import read_budget, read_whole
from rewardmachines.cli.opened_runs import common_name
from rewardmachines.cli.shared import Command, Flag, Quiet, log
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.runs.stopping import RunBudget

if TYPE_CHECKING:
    from rewardmachines.runs.config import RunConfig
    from rewardmachines.runs.folder import RunFolder
    from rewardmachines.runs.orders import Arguments, RunOrder
    from rewardmachines.runs.run import Run

_CHANNELS_FIRST: Final = "channels-first"
_RUNS: Final = Path("runs")
"""The folder of runs for which no folder is given."""
_NAMELESS: Final = _RUNS / "…"
"""A folder that stands for one whose name is not known yet."""


@dataclass(frozen=True)
class RunCommand(Command, ABC):
    """A command that makes runs. An argument that is not given has its default, or that of the resumed run."""

    loads: ClassVar[tuple[str, ...]] = ("rewardmachines.runs.run", "rewardmachines.cli.progress")
    hears_interrupt: ClassVar[bool] = True
    aim: ClassVar[str]
    """The purpose of the run's time, such as `to learn`."""

    setting: SettingChoice = None
    preset: Annotated[Preset | None, tyro.conf.EnumChoicesFromValues] = None
    """fast, the default, is tuned for wall clock; paper is as published; table has the agents of fast and learns
    machines by the rules of paper."""
    set: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="NAME=VALUE")] = ()
    """Change a setting, such as batch=64 or network.hidden=[128] (hrm settings); repeat for more."""
    instances: Annotated[str | None, tyro.conf.arg(metavar="NUMBER|fresh")] = None
    """The number of grids or boxes of a domain; ten if not given. With fresh, every episode takes place in one of very
    many, and policies are evaluated in held-out instances, so that they learn to act anywhere. In an environment of
    your own, the number of fixed initial states, reset(seed=0) and so on; sampled ones if not given."""
    instance_seed: int | None = None
    """The seed of a domain's first instance, or of the first that is held out; that of the paper's first run if not
    given, or one that is none of its instances."""
    max_steps: Annotated[int | None, tyro.conf.arg(metavar="STEPS")] = None
    """The number of steps after which an episode is truncated; 1000 if not given."""
    encode: Annotated[str | None, tyro.conf.arg(metavar="channels-first|MODULE:FUNCTION")] = None
    """In an environment of your own, the encoding of observations as inputs of a network: channels-first for pictures
    with channels last, or a function of one observation. Boxes of numbers and discrete spaces need none."""
    bank: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Begin with a bank of skills (hrm bank save), whose domain and setting need not be given again."""
    seed: int | None = None
    """The seed of all random choices; with several seeds, the first of them; 0 if not given."""
    seeds: int | None = None
    """The number of parallel runs in a domain, each in a folder of its own with a name that ends with its seed."""
    own_instances: Flag = False
    """Each run has instances of its own, as the paper's five runs: seed 0 those of the first, and so on."""
    budget: Annotated[str | None, tyro.conf.arg(metavar="STEPS|TIME")] = None
    """The budget of the run: a number of steps, such as 500000 or 1e6, or a time, such as 90s, 30m or 2h."""
    steps: Annotated[int | None, tyro.conf.arg(metavar="STEPS")] = None
    """The number of steps of the run, the same as --budget."""
    episodes: int | None = None
    """The number of episodes of the run; with the preset paper, the published number if no limit is given."""
    stop_at: float | None = None
    """End when the mean return of three evaluations in a row is at least this, for every task; what the domain calls
    solved if not given, such as 0.95, and 0 for never."""
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")] = None
    """The folder of the run; a folder in runs/ with a name made from the other arguments if not given."""
    resume: Flag = False
    """Go on with the run in the folder; nothing else needs to be said."""
    no_report: Flag = False
    """Do not write a report in the end."""
    quiet: Quiet = False

    @abstractmethod
    def _asked(self) -> Arguments:
        """The arguments of the run, new or resumed."""

    @abstractmethod
    def _name(self, config: RunConfig) -> str:
        """The name of the folder of a run that is given none, without its seed."""

    def run(self) -> int:
        from rewardmachines.cli.progress import watching
        from rewardmachines.runs.orders import carry_out
        from rewardmachines.runs.run import Run

        phases = Phases()
        find_modules_here()
        prepare_device()
        orders = self._orders()
        if not self.no_report:
            _check_reports([order.folder for order in orders])
        self._announce(orders[0])
        phases.end("to start")
        advanced = set[int]()
        try:
            with (
                _plain_warnings(),
                closing(carry_out(orders)) as chunks,
                watching([order.config for order in orders], quiet=self.quiet) as watch,
            ):
                for number, chunk in chunks:
                    watch(number, chunk)
                    advanced.add(number)
        except KeyboardInterrupt:
            if orders[0].folder.config.exists():
                folder = common_name([order.folder.path for order in orders])
                log(f"stopped; go on with: hrm {type(self).__name__.lower()} --resume -o {folder}")
            raise
        runs = [Run(order.folder.path, order.given) for order in orders]
        phases.end_run(self.aim, runs[0].timing, is_new=not self.resume)
        status = max(_conclude(run, has_advanced=number in advanced) for number, run in enumerate(runs))
        if not self.no_report:
            write_reports(runs)
            phases.end("for the report")
        phases.log(quiet=self.quiet)
        return status

    def _announce(self, order: RunOrder) -> None:
        """Says what there is to say before a run begins."""

    # -- what is asked for

    def _common(self) -> dict[str, Any]:
        """The arguments that training and learning have in common."""
        return {
            **asdict(self._limits()),
            "setting": self.setting,
            "preset": self.preset,
            "seed": self.seed,
            "instances": self._instances(),
            "instance_seed": self.instance_seed,
            "max_steps": self.max_steps,
            "encode": _encoding(self.encode),
            "bank": self.bank,
            "stop_at": self.stop_at,
        }

    def _instances(self) -> int | Literal["fresh"] | None:
        """The number of instances, or the word for fresh ones.

        Raises:
            RewardMachineError: It is neither.
        """
        if self.instances is None or self.instances == "fresh":
            return self.instances  # type: ignore[return-value]
        try:
            return read_whole(self.instances)
        except ValueError:
            raise RewardMachineError(f"--instances {self.instances}: write a number, or fresh") from None

    def _limits(self) -> RunBudget:
        """The limits that are given."""
        limits = RunBudget() if self.budget is None else read_budget(self.budget)
        if self.steps is not None and limits.steps is not None:
            raise RewardMachineError("--steps and --budget both say how many steps: leave one of them out")
        return replace(limits, episodes=self.episodes, steps=limits.steps if self.steps is None else self.steps)

    # -- orders and their folders

    def _orders(self) -> list[RunOrder]:
        """The orders that are asked for, one for each seed."""
        from rewardmachines.runs.folder import RunFolder, folder_of_seed
        from rewardmachines.runs.orders import order_of, orders_of_seeds

        asked = self._asked()
        if self.resume:
            return self._resumed(asked)
        order = order_of(asked, RunFolder(_NAMELESS), resume=False)
        base = RunFolder(self.output or _RUNS / self._name(order.config))
        if self.seeds is not None:
            return orders_of_seeds(replace(order, folder=base), self.seeds, own_instances=self.own_instances)
        if self.own_instances:
            (order,) = orders_of_seeds(order, 1, own_instances=True)
        folder = base if self.output is not None else folder_of_seed(base, order.config.seed)
        return [replace(order, folder=folder)]

    def _resumed(self, asked: Arguments) -> list[RunOrder]:
        """The orders to go on with the runs in a folder, or in those whose common name it is."""
        from rewardmachines.envs.scenarios import instance_seed_of
        from rewardmachines.runs.folder import RunFolder, folder_of_seed, folders_of_seeds
        from rewardmachines.runs.orders import order_of

        seed = self.seed or 0
        if self.output is None:  # the folder has the name that a new run would get
            name = self._name(order_of(asked, RunFolder(_NAMELESS), resume=False).config)
            folders = [folder_of_seed(RunFolder(_RUNS / name), seed + number) for number in range(self.seeds or 1)]
        elif self.seeds is not None:
            folders = [folder_of_seed(RunFolder(self.output), seed + number) for number in range(self.seeds)]
        else:
            whole = RunFolder(self.output)
            folders = [whole] if whole.config.exists() else [*folders_of_seeds(whole).values()] or [whole]
        orders = []
        for number, folder in enumerate(folders):
            own = asked if self.seed is None else replace(asked, seed=self.seed + number)
            if self.own_instances:
                own = replace(own, instance_seed=instance_seed_of(folder.read_config()[0].seed))
            orders.append(order_of(own, folder, resume=True))
        return orders


def folder_name(*parts: str) -> str:
    """The name of a folder, made of words of others.

    >>> folder_name("my_lake", "lookout ; goal", "hrl")
    'my_lake-lookout-goal-hrl'
    """
    return re.sub(r"[^\w.+&]+", "-", "-".join(part for part in parts if part))


def _encoding(name: str | None) -> Any:
    """The encoding of `--encode`: `channels-first`, or a function, whose module is imported. None stays None."""
    from rewardmachines.files.named_function import named_function

    if name is None or name == _CHANNELS_FIRST:
        return name
    return named_function(name, "encode", is_asked_for=True)


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Prints warnings as lines, without the place in the code where they come from."""
    from rewardmachines.rollout.dead_ends import DeadEndWarning
    from rewardmachines.rollout.gym_environments import ReplayWarning
    from rewardmachines.runs.diagnosis import NotLearnedWarning

    with warnings.catch_warnings():
        for category in (DeadEndWarning, ReplayWarning, NotLearnedWarning):
            warnings.simplefilter("always", category)
        warnings.showwarning = lambda message, *_args, **_options: log(f"warning: {message}")
        yield


# -- what came of it


def _conclude(run: Run, *, has_advanced: bool) -> int:
    """Says how a run ended, and what is missing; 1 if tasks are not learned."""
    rows, timing, missing = run.rows, run.timing, run.missing
    if not has_advanced and run.is_zero_shot:
        (done,) = run.evaluate()
        log(f"no step was taken: greedy return {done.mean_return:.2f} in {len(done.returns)} episodes; {run.folder}")
        return 0
    if not has_advanced:
        done_so_far = f"{timing[-1].steps:,} steps are done" if timing else "nothing was asked for"
        log(f"nothing left to do: {done_so_far}; --budget, --episodes or --stop-at asks for more")
    if rows and timing:
        last, episodes = timing[-1], rows[-1].episodes
        counts = f"{last.steps:,} steps, {episodes:,} episodes"
        if run.config.learns_machines:
            learned = f"{len(run.tasks) - len(missing)} of {len(run.tasks)} tasks learned"
            searches = f", {last.learner_seconds:,.1f} s of them to learn machines"
            log(f"{learned}: {counts}, {last.seconds:,.0f} s{searches}; {run.folder}")
        else:
            early = "" if run.config.budget.is_spent(last.steps, episodes, last.seconds) else ": good enough"
            log(f"{counts}{early}, {last.seconds:,.0f} s; {run.folder}")
    for name, message in missing.items():
        log(f"  {name}: {message}")
    return 1 if missing else 0


def write_reports(runs: Sequence[Run], output: Path | None = None) -> None:
    """Writes the report of each run, and of several seeds one beside their runs.

    Args:
        runs: The runs, which differ in nothing but their seeds.
        output: The folder of the report; in the folder of a single run, or beside several, if not given.
    """
    from rewardmachines.reports import write_report, write_seeds_report  # these draw, which only this needs
    from rewardmachines.reports.page_parts import claim_folder

    own, beside = _report_folders([run.files for run in runs], output)
    for folder in (*own, *beside):
        claim_folder(folder)
    for run, folder in zip(runs, own, strict=True):
        log(f"wrote {write_report(run, folder)}")
    for folder in beside:
        log(f"wrote {write_seeds_report(runs, folder)}")


def _report_folders(runs: Sequence[RunFolder], output: Path | None = None) -> tuple[list[Path], list[Path]]:
    """The folders of the reports of single runs, and that of several seeds, if there are several."""
    if len(runs) == 1:
        return [output or runs[0].report], []
    beside = Path(f"{common_name([run.path for run in runs])}-report")
    return [run.report for run in runs], [output or beside]


def _check_reports(runs: Sequence[RunFolder]) -> None:
    """Checks, before runs begin, that their reports will replace nothing but reports.

    Raises:
        RewardMachineError: There is something else.
    """
    own, beside = _report_folders(runs)
    if any(folder.is_dir() for folder in (*own, *beside)):
        from rewardmachines.reports.page_parts import check_folder  # this draws, which a new run does not wait for

        for folder in (*own, *beside):
            check_folder(folder)
