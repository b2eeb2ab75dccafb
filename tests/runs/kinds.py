"""The four kinds of runs: hierarchies given or learned, in a domain or in Gymnasium environments.

All take seconds. Every law of runs is one for each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.numpy import load_file

from lhrm import yards
from lhrm.toy import MAX_STEPS, SMALL, TWO_ROOMS, quickly, two_rooms_registered
from rewardmachines.lhrm.config import Exploration
from rewardmachines.runs import verbs
from rewardmachines.runs.checkpoint import HOST
from rewardmachines.runs.orders import LearnArguments, TrainArguments, order_of
from rewardmachines.runs.run import Run
from runs.killing import Kill

LHRM = quickly(explores_with=Exploration.PROPOSITIONS)
"""Settings with which all tasks of two rooms are learned within 30 chunks."""
CHUNK = SMALL.agent.chunk * SMALL.agent.environments
"""Steps of a chunk in two rooms."""


@dataclass(frozen=True)
class Kind:
    """A kind of runs, with arguments for one that takes a moment."""

    name: str
    verb: Callable[..., Run]
    """`train` or `learn`."""
    arguments: dict[str, Any]
    limits: dict[str, Any]
    """When the whole run ends."""
    chunk: int
    """Steps of a chunk in which no environment waits."""
    kills: dict[Kill, bool]
    """Moments at which it is killed, and whether there is a run by then."""

    def __str__(self) -> str:
        return self.name

    @property
    def learns(self) -> bool:
        """Whether machines are learned."""
        return self.verb is verbs.learn

    @property
    def is_gym(self) -> bool:
        """Whether it takes place in Gymnasium environments."""
        return bool(self.arguments["where"] != TWO_ROOMS.name)

    @property
    def task(self) -> str:
        """A task that the whole run has a policy for."""
        return {"train-domain": "all", "learn-domain": "fetch", "train-gym": "ab", "learn-gym": "bc"}[self.name]

    @property
    def tasks(self) -> int:
        """The number of tasks."""
        return 3 if self.learns else 1

    @property
    def instances(self) -> int:
        """The number of returns of each task in a row."""
        return 3 if self.is_gym else 1

    def run(self, folder: Path | None, **options: Any) -> Run:
        """Trains or learns, with other arguments for those that are given."""
        with two_rooms_registered():
            return self.verb(folder=folder, **{**self.arguments, **self.limits, **options})

    def resume(self, folder: Path, **options: Any) -> Run:
        """Goes on with a run."""
        with two_rooms_registered():
            return self.verb(folder=folder, resume=True, **options)

    def order(self, folder: Any, **options: Any) -> Any:
        """The order of a run, which `carry_out` carries out chunk by chunk."""
        asked = {**self.arguments, **self.limits, **options}
        arguments = LearnArguments(**asked) if self.learns else TrainArguments(**asked)
        return order_of(arguments, folder, resume=False)

    @property
    def code(self) -> str:
        """Code that carries out the whole run in FOLDER."""
        return f"from runs.kinds import KINDS\nfrom pathlib import Path\nKINDS[{self.name!r}].run(Path(FOLDER))\n"

    @property
    def slow_code(self) -> str:
        """The same with a pause after each chunk, in the folder that is the first argument."""
        return (
            "import sys, time\nfrom pathlib import Path\nfrom rewardmachines.runs import journal\n"
            "from runs.kinds import KINDS\njournal.CHECKPOINT_SECONDS = 0\n"
            f"KINDS[{self.name!r}].run(Path(sys.argv[1]), callbacks=[lambda chunk: time.sleep(0.1)])\n"
        )


_STEPS = 10 * CHUNK
TRAIN_DOMAIN = Kind(
    "train-domain",
    verbs.train,
    {"where": TWO_ROOMS.name, "task": "all", "settings": SMALL.agent, "instances": 1, "max_steps": MAX_STEPS},
    {"steps": _STEPS, "stop_at": 0},
    CHUNK,
    {
        Kill("config.json", "half"): False,
        Kill("machines/all.json", "half"): True,
        Kill("metrics.jsonl", "half", 5): True,
        Kill("/policies.safetensors", "before", 2): True,
        Kill("checkpoint.safetensors", "half", 2): True,
    },
)
LEARN_DOMAIN = Kind(
    "learn-domain",
    verbs.learn,
    {"where": TWO_ROOMS.name, "settings": LHRM, "instances": 1, "max_steps": MAX_STEPS},
    {},
    CHUNK,
    {
        Kill("config.json", "half"): False,
        Kill("metrics.jsonl", "half", 2): True,
        Kill("machines/fetch.json", "half"): True,
        Kill("examples/press.jsonl", "after"): True,
        Kill("/policies.safetensors", "half", 3): True,
        Kill("checkpoint.safetensors", "before", 7): True,
        Kill("checkpoint.safetensors", "after", 26): True,
    },
)
TRAIN_GYM = Kind(
    "train-gym",
    verbs.train,
    {
        "where": yards.make_ab,
        "task": yards.TASK,
        "name": "ab",
        "settings": yards.FEW.agent,
        "instances": 3,
        "max_steps": 60,
        "seed": 3,
    },
    {"steps": 10 * yards.STEPS, "stop_at": 0},
    yards.STEPS,
    {
        Kill("config.json", "half"): False,
        Kill("machines/ab.json", "half"): True,
        Kill("metrics.jsonl", "half", 2): True,
        Kill("timing.jsonl", "half", 7): True,
        Kill("policies-best.safetensors", "half", 2): True,
        Kill("policies-best.safetensors", "after", 3): True,
        Kill("/policies.safetensors", "half", 9): True,
        Kill("checkpoint.safetensors", "before", 1): True,
        Kill("checkpoint.safetensors", "half", 4): True,
        Kill("checkpoint.safetensors", "after", 5): True,
        Kill("checkpoint.safetensors", "before", 8): True,
        Kill("checkpoint.safetensors", "after", 9): True,
    },
)
LEARN_GYM = Kind(
    "learn-gym",
    verbs.learn,
    {"where": yards.TASKS, "settings": yards.FEW, "max_steps": 60, "seed": 3},
    {"steps": 16 * yards.STEPS},
    yards.STEPS,
    {
        Kill("config.json", "half"): False,
        Kill("metrics.jsonl", "half", 2): True,
        Kill("machines/ab.json", "half"): True,
        Kill("examples/bc.jsonl", "after"): True,
        Kill("policies-best.safetensors", "half", 2): True,
        Kill("/policies.safetensors", "half", 9): True,
        Kill("checkpoint.safetensors", "before", 1): True,
        Kill("checkpoint.safetensors", "after", 5): True,
        Kill("checkpoint.safetensors", "before", 12): True,
        Kill("checkpoint.safetensors", "after", 15): True,
    },
)
KINDS = {kind.name: kind for kind in (TRAIN_DOMAIN, LEARN_DOMAIN, TRAIN_GYM, LEARN_GYM)}
GYM = [TRAIN_GYM, LEARN_GYM]
"""Those in Gymnasium environments."""
LEARNING = [LEARN_DOMAIN, LEARN_GYM]
"""Those that learn machines."""


def metrics(folder: Path) -> bytes:
    """The metrics of a run."""
    return (folder / "metrics.jsonl").read_bytes()


def kept(folder: Path) -> dict[str, bytes]:
    """What depends on the config alone: all files but those of times, and all networks."""
    files = [folder / "metrics.jsonl", *(folder / "machines").iterdir(), *(folder / "examples").iterdir()]
    found = {str(path.relative_to(folder)): path.read_bytes() for path in files}
    for path in folder.glob("policies*.safetensors"):
        networks = load_file(path)
        networks.pop(HOST)  # says how long searches took
        found |= {f"{path.name} {name}": array.tobytes() for name, array in networks.items()}
    return found
