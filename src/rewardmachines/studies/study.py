"""A study is data: which runs there are, and which tables, figures and claims are made of them.

Studies of the paper lie in `studies/files/` as TOML files; a study of one's own is such a file anywhere.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from enum import Enum
from importlib import resources
from pathlib import Path
from typing import Any, Final, Literal

from rewardmachines.agents.presets import Preset
from rewardmachines.core.errors import RewardMachineError, SyntaxProblem
from rewardmachines.core.hierarchy import suggestion
from rewardmachines.envs.domain import INSTANCES
from rewardmachines.files.document import read_text
from rewardmachines.files.records import from_plain, to_plain

RUNS: Final = 5
"""The number of runs of everything in the paper."""


class RunKind(Enum):
    """The command of a block's runs: `hrm learn`, `hrm train`, or a flat baseline."""

    LEARN = "learn"
    TRAIN = "train"
    FLAT = "flat"


@dataclass(frozen=True)
class Block:
    """Runs that differ in nothing but their setting, task, algorithm or method, and seed."""

    name: str
    """The name by which tables and figures speak of it."""
    command: RunKind
    settings: tuple[str, ...]
    """Settings of domains, such as `op`."""
    tasks: tuple[str, ...] = ()
    """LEARN: the tasks of each run, all of the domain if none are named. Otherwise a run for each."""
    each_task: bool = False
    """LEARN: whether there is a run for each task, which then is learned alone."""
    algorithms: tuple[str, ...] = ("hrl",)
    """TRAIN: a run for each of these agents."""
    methods: tuple[str, ...] = ()
    """FLAT: a run for each, such as `jirp`."""
    preset: Preset = Preset.FAST
    seeds: int = RUNS
    """The number of runs of each; `--seeds` replaces it."""
    own_instances: bool = True
    """Whether each seed has instances of its own, as in the paper."""
    instances: int | Literal["fresh"] = INSTANCES
    """The number of instances; `fresh`: every episode takes place in one of very many, others are held out."""
    max_steps: int = 1000
    """Steps after which an episode is truncated."""
    steps: int | None = None
    """The steps that a run may take."""
    episodes: int | None = None
    """The episodes that a run may take."""
    stop_at: float | None = None
    """The mean return of three evaluations with which a run ends; what is usual if not given, 0 for never."""
    learner_seconds: float | None = None
    """The seconds that all searches for machines of a run may take together; what the preset says if not given."""
    set: tuple[str, ...] = ()
    """Changed settings, NAME=VALUE, as `--set` takes them."""
    rules: int = 1
    """The number of the rules of these runs. It is raised when a program, a preset or a method has changed such that
    earlier results do not count any more."""


@dataclass(frozen=True)
class TableSpec:
    """A table of a study."""

    kind: Literal["lhrm", "flat", "reach"]
    """`lhrm`: the columns of the paper's appendix, by task. `flat`: flat machines, by task and method. `reach`: the
    episodes and steps until a return is reached, by task and algorithm."""
    title: str
    blocks: tuple[str, ...]


@dataclass(frozen=True)
class FigureSpec:
    """A figure of a study: returns against episodes and against steps."""

    kind: Literal["tasks", "algorithms"]
    """`tasks`: a panel for each setting, a curve for each task. `algorithms`: a panel for each task, a curve for each
    block and algorithm."""
    title: str
    blocks: tuple[str, ...]
    settings: tuple[str, ...] = ()
    """The settings that are shown; all that its blocks have, if none are named."""


@dataclass(frozen=True)
class Study:
    """Runs, and what is made of them."""

    name: str
    title: str
    note: str
    """A remark for readers on the rules under which its numbers came about."""
    blocks: tuple[Block, ...]
    """The runs of its own; none, if it consists of other studies."""
    studies: tuple[str, ...] = ()
    """The names of the studies that it consists of, in the order in which their runs are carried out."""
    tables: tuple[TableSpec, ...] = ()
    figures: tuple[FigureSpec, ...] = ()
    claims: tuple[str, ...] = ()
    """Names of claims in `studies/claims.py`."""


def study_names() -> tuple[str, ...]:
    """The names of all studies that come with the package."""
    return tuple(sorted(_built_in()))


def load_study(name: str) -> Study:
    """The study of that name, or in that file.

    Args:
        name: The name of a study that comes with the package, such as `smoke`, or the path of a TOML file.

    Raises:
        RewardMachineError: There is no such study, or its file is wrong; the message says where.
    """
    built_in = _built_in()
    if name in built_in:
        return read_study(built_in[name], name, f"study {name}")
    path = Path(name)
    if path.suffix == ".toml" or path.exists():
        return read_study(read_text(path), path.stem, str(path))
    hint = suggestion(name, built_in) or f"; there are {', '.join(sorted(built_in))}, or a TOML file of your own"
    raise RewardMachineError(f"there is no study '{name}'{hint}")


def parts_of(study: Study) -> tuple[Study, ...]:
    """The studies that a study consists of; itself, if it has runs of its own.

    Raises:
        RewardMachineError: There is no such study, or one of them consists of others in turn.
    """
    parts = tuple(map(load_study, study.studies)) or (study,)
    if study.studies and (deep := next((part.name for part in parts if part.studies), None)) is not None:
        raise RewardMachineError(f"study {study.name}: '{deep}' consists of other studies; name those")
    return parts


def _built_in() -> dict[str, str]:
    """The texts of the package's studies, by name. Folders are part of names."""
    root = resources.files("rewardmachines.studies") / "files"

    def visit(folder: Any, prefix: str) -> Iterator[tuple[str, str]]:
        for item in folder.iterdir():
            if item.name.endswith(".toml"):
                yield prefix + item.name.removesuffix(".toml"), item.read_text(encoding="utf-8")
            elif item.is_dir():
                yield from visit(item, f"{prefix}{item.name}/")

    return dict(visit(root, ""))


def read_study(text: str, name: str, where: str) -> Study:
    """The study that a text in TOML describes.

    Args:
        text: The text.
        name: The name of the study.
        where: The text with which error messages begin.

    Raises:
        SyntaxProblem: It is no study; the message says what is wrong and where.
    """
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as problem:  # ValueError: also for numbers with thousands of digits
        raise SyntaxProblem(f"{where}: this is not TOML ({problem})") from None
    parts = {"runs": Block, "tables": TableSpec, "figures": FigureSpec}
    known = (*parts, "title", "note", "claims", "studies")
    for key in content:
        if key not in known:
            raise SyntaxProblem(f"{where}: '{key}' means nothing there{suggestion(key, known)}")
    records = {key: _records(kind, content.get(key, []), f"{where}, {key}") for key, kind in parts.items()}
    study = Study(
        name=name,
        title=from_plain(str, content.get("title", name), f"{where}, title"),
        note=from_plain(str, content.get("note", ""), f"{where}, note"),
        blocks=records["runs"],
        studies=from_plain(tuple[str, ...], content.get("studies", []), f"{where}, studies"),
        tables=records["tables"],
        figures=records["figures"],
        claims=from_plain(tuple[str, ...], content.get("claims", []), f"{where}, claims"),
    )
    _check_names(study, where)
    return study


def _records(kind: Any, tables: Any, where: str) -> tuple[Any, ...]:
    """Records of TOML tables, in which fields with defaults may be left out."""
    if not isinstance(tables, list):
        raise SyntaxProblem(f"{where}: write [[{where.rpartition(' ')[2]}]], with double brackets")
    return tuple(from_plain(kind, _complete(kind, table), f"{where}[{i}]") for i, table in enumerate(tables))


def _complete(kind: Any, table: Any) -> Any:
    if not isinstance(table, dict):
        return table
    return {**_defaults(kind), **table}


def _defaults(kind: Any) -> Mapping[str, Any]:
    return {field.name: to_plain(field.default) for field in fields(kind) if field.default is not MISSING}


def _check_names(study: Study, where: str) -> None:
    if study.studies and (study.blocks or study.tables or study.figures or study.claims):
        raise SyntaxProblem(f"{where}: a study that consists of other studies has nothing else: leave out the rest")
    if not study.blocks and not study.studies:
        raise SyntaxProblem(f"{where}: there are no runs: write at least one [[runs]]")
    names = [block.name for block in study.blocks]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise SyntaxProblem(f"{where}: two blocks of runs are called '{twice}'")
    parts = [(t.title, t.blocks) for t in study.tables] + [(f.title, f.blocks) for f in study.figures]
    for title, blocks in parts:
        for name in blocks:
            if name not in names:
                hint = suggestion(name, names) or f"; there are {', '.join(names)}"
                raise SyntaxProblem(f"{where}: '{title}' speaks of the runs '{name}', which are not there{hint}")
    settings = dict.fromkeys(setting for block in study.blocks for setting in block.settings)
    for figure in study.figures:
        for name in figure.settings:
            if name not in settings:
                hint = suggestion(name, settings) or f"; there are {', '.join(settings)}"
                raise SyntaxProblem(
                    f"{where}: '{figure.title}' speaks of the setting '{name}', which no runs have{hint}"
                )
