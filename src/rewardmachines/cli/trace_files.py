"""Where in their files traces are that contradict each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.files import read_places
from rewardmachines.learning import ContradictoryTracesError


@contextmanager
def naming_lines(paths: Sequence[str]) -> Iterator[None]:
    """Adds the lines of both traces to a contradiction that is found inside.

    Args:
        paths: The trace files. They are read again only for a contradiction, which is impossible for a pipe.

    Raises:
        RewardMachineError: What was raised inside, with the lines.
    """
    try:
        yield
    except ContradictoryTracesError as problem:
        if not all(Path(path).is_file() for path in paths):
            raise
        wanted = set(problem.traces)
        places: dict[object, str] = {}
        for place, trace in chain.from_iterable(map(read_places, paths)):
            if trace in wanted:
                places.setdefault(trace, place)
        raise RewardMachineError(f"{' and '.join(places.values())}: {problem}") from None
