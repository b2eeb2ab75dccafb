"""Draws the LTLf templates of docs/ltlf/templates.toml, and writes the table of them in docs/ltlf.md (`make figures`).

python benchmarks/ltlf_page.py
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Final

from rewardmachines.core.equivalence import equivalent
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.drawing import draw
from rewardmachines.language.ltlf import compile_ltlf

DOCS: Final = Path(__file__).parents[1] / "docs"
TEMPLATES: Final = DOCS / "ltlf" / "templates.toml"
PAGE: Final = DOCS / "ltlf.md"
IMAGES: Final = Path("images/ltlf")
BEGIN: Final = "<!-- templates: written by benchmarks/ltlf_page.py -->\n"
END: Final = "<!-- end of templates -->\n"
DONE: Final = "done"
FAMILIES: Final = {
    "DECLARE": "Constraints on processes, as DECLARE has them.",
    "Dwyer": "Patterns of properties in scopes, by Dwyer, Avrunin and Corbett.",
    "RL": "Tasks of agents.",
}


@dataclass(frozen=True)
class Template:
    """A formula that many use, under its name."""

    family: str
    name: str
    formula: str
    says: str

    @property
    def image(self) -> Path:
        """The file of its picture, in the folder of documents."""
        words = re.sub(r"[^a-z]+", "-", f"{self.family} {self.name}".lower())
        return IMAGES / f"{words}.svg"

    def compiled(self, accept: str) -> Hierarchy | None:
        """Its machine; None where the formula asks for nothing, or can never be decided."""
        try:
            return compile_ltlf(self.formula, accept=accept, name=self.name)  # type: ignore[arg-type]
        except RewardMachineError:
            return None

    @property
    def is_decided(self) -> bool:
        """Whether both ways to accept give the same machine: the formula is co-safe."""
        first, decided = self.compiled("first"), self.compiled("decided")
        return first is not None and decided is not None and equivalent(first, decided)

    def drawn(self) -> Hierarchy:
        """The machine that is drawn: that of the defaults, or else the one that waits for the end."""
        return self.compiled("first") or compile_ltlf(self.formula, end=DONE, name=self.name)


def templates() -> list[Template]:
    """The templates of the file."""
    return [Template(**entry) for entry in tomllib.loads(TEMPLATES.read_text(encoding="utf-8"))["template"]]


def main() -> None:
    """Writes the pictures and the table."""
    (DOCS / IMAGES).mkdir(parents=True, exist_ok=True)
    for template in templates():
        draw(template.drawn(), width=420, titles=False).save(DOCS / template.image)
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    PAGE.write_text(before + BEGIN + table() + END + rest.split(END)[1], encoding="utf-8")


def table() -> str:
    """The tables of all families, and the sentence that counts."""
    known = templates()
    first = sum(template.compiled("first") is not None for template in known)
    decided = sum(template.is_decided for template in known)
    counts = (
        f"Of these {len(known)} templates, {first} ask for something, so that the defaults suffice; {decided} of them "
        'are decided when they are first satisfied, and the same with `accept="decided"`. The other '
        f'{len(known) - first} forbid, but ask for nothing: they are judged at the end, and drawn with `end="{DONE}"`.'
    )
    parts = ["\n", *(f"{line}\n" for line in wrap(counts, 118, break_on_hyphens=False))]
    for family, what in FAMILIES.items():
        parts.append(
            f"\n### {family}\n\n{what}\n\n| template | formula | judged | machine |\n| --- | --- | --- | --- |\n"
        )
        parts += [row(template) for template in known if template.family == family]
    return "".join(parts) + "\n"


def row(template: Template) -> str:
    """The row of a template."""
    formula = template.formula.replace("|", r"\|")
    when = "decided" if template.is_decided else "first" if template.compiled("first") is not None else "at the end"
    picture = f"![{template.name}: its machine]({template.image.as_posix()})"
    return f"| {template.name} | `{formula}`<br>{template.says} | {when} | {picture} |\n"


if __name__ == "__main__":
    main()
