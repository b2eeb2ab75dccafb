"""The command `hrm equivalent`: do two hierarchies give the same verdict on every trace?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import tyro

from rewardmachines.cli.shared import (
    Command,
    Flag,
    LabelChoice,
    describe_labels,
    read_hierarchy,
    read_labels,
    write_json,
)
from rewardmachines.core.equivalence import difference
from rewardmachines.core.traversal import show_label, verdict


@dataclass(frozen=True)
class Equivalent(Command):
    """Compare two hierarchies: do they give the same verdict on every trace?

    Exit status 0 if they do, 1 if they do not; then a shortest trace that tells them apart is printed.
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
            print(f"equivalent on {describe_labels(labels)}")
        else:
            print(f"different: {' '.join(map(show_label, word)) or 'the empty trace'}")
            for name, outcome in (verdicts or {}).items():
                print(f"  {name}: {outcome}")
        return 0 if word is None else 1
