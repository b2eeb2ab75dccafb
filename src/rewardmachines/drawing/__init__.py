"""Pictures of hierarchies: DOT and Mermaid for others to lay out, SVG and PNG laid out here or by Graphviz."""

from rewardmachines.drawing.engines import Engine, to_png, to_svg
from rewardmachines.drawing.formats.dot import to_dot
from rewardmachines.drawing.formats.mermaid import to_mermaid
from rewardmachines.drawing.frames import draw_frame
from rewardmachines.drawing.options import DrawingOptions
from rewardmachines.drawing.saving import save_drawing

__all__ = ["DrawingOptions", "Engine", "draw_frame", "save_drawing", "to_dot", "to_mermaid", "to_png", "to_svg"]
