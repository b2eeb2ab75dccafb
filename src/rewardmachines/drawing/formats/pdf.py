"""A scene as PDF, through matplotlib's canvas, which embeds what it uses of its font."""

from __future__ import annotations

import io
from typing import Final

from rewardmachines.drawing.formats.canvas import paint
from rewardmachines.drawing.scene.shapes import Scene

POINTS_PER_UNIT: Final = 0.75
"""An SVG's unit is a 96th of an inch; so the PDF is as large on paper, and its labels have letters of 9 points."""

_TRUETYPE: Final = 42
"""Publishers do not accept matplotlib's own default, Type 3."""


def render_pdf(scene: Scene) -> bytes:
    """A page as large as the scene; text is text, in an embedded font. The same scene gives the same bytes."""
    from matplotlib import rc_context

    figure = paint(scene, scene.width, scene.height, points=POINTS_PER_UNIT)
    file = io.BytesIO()
    with rc_context({"pdf.fonttype": _TRUETYPE}):
        # A date would make every file another one.
        figure.savefig(file, format="pdf", metadata={"Title": scene.title, "CreationDate": None})
    return file.getvalue()
