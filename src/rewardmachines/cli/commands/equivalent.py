"""The command `hrm equivalent`: do two hierarchies give the same verdict on every trace?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import tyro

from rewardmachines.cli.shared import (
    Command,
    Flag,
    LabelChoice,
    describe_labels,
    read_hierarchy,
    read_labels,
    say,
    write_json,
)
from rewardmachines.core.equivalence import difference
from rewardmachines.core.formula import Label
from rewardmachines.core.traversal import show_label, verdict

_LONGEST: Final = 200
"""Labels of a trace that are shown whole; of a longer one, the beginning and the end."""
_SHOWN: Final = 20


@dataclass(frozen=True)
class Equivalent(Command):
    """Compare two hierarchies: do they give the same verdict on every trace?

    Exit status 0 if they do, 1 if they do not; then a shortest trace that separates them is printed.
    """

    a: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="A")]
    """A machine file or a name from the library."""
    b: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="B")]
    """The other one."""
    labels: LabelChoice = "all"
    """The labels that can occur: all of them, those of at most one proposition, or those that satisfy a formula."""
    events: Flag = False
    """Only traces in which no two neighbouring labels are equal, as recorded in episodes."""
    json: Flag = False
    """Print JSON."""

    def run(self) -> int:
        a, b = read_hierarchy(self.a), read_hierarchy(self.b)
        labels = read_labels(self.labels, a, b)
        word = difference(a, b, labels=labels, events=self.events)
        verdicts = None if word is None else {self.a: verdict(a, word).value, self.b: verdict(b, word).value}
        if self.json:
            trace = None if word is None else [sorted(label) for label in word]
            pair = None if word is None else [verdict(a, word).value, verdict(b, word).value]
            write_json({"equivalent": word is None, "trace": trace, "verdicts": pair})
        elif word is None:
            say(f"equivalent on {describe_labels(labels)}{', by events' if self.events else ''}")
        else:
            say(f"different: {_shown(word)}")
            for name, outcome in (verdicts or {}).items():
                say(f"  {name}: {outcome}")
        return 0 if word is None else 1


def _shown(word: Sequence[Label]) -> str:
    """A trace in readable length: a trace that separates hierarchies may have a million labels."""
    if not word:
        return "the empty trace"
    if len(word) <= _LONGEST:
        return " ".join(map(show_label, word))
    first, last = (" ".join(map(show_label, part)) for part in (word[:_SHOWN], word[-_SHOWN:]))
    return f"a trace of {len(word):,} labels (--json prints it whole): {first} … {last}"
