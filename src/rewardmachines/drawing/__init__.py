"""Pictures of hierarchies: SVG, PDF and PNG laid out here or by Graphviz; DOT and Mermaid for others to lay out."""

from rewardmachines.drawing.drawings import Drawing, LayoutEngine, draw, save_drawing, to_pdf, to_png, to_svg
from rewardmachines.drawing.formats.languages import to_dot, to_mermaid
from rewardmachines.drawing.frames import draw_frame, frame_scale
from rewardmachines.drawing.options import DrawingOptions

__all__ = [
    "Drawing",
    "DrawingOptions",
    "LayoutEngine",
    "draw",
    "draw_frame",
    "frame_scale",
    "save_drawing",
    "to_dot",
    "to_mermaid",
    "to_pdf",
    "to_png",
    "to_svg",
]
