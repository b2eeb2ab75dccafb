"""Nothing is ever cut off: every formula and every name is in the drawing, in lines or in the legend."""

from __future__ import annotations

from itertools import combinations
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardmachines.core.flattening import flatten
from rewardmachines.core.formula import Conjunction, Formula
from rewardmachines.core.hierarchy import Hierarchy, hierarchy
from rewardmachines.core.machine import Edge, RewardMachine, machine
from rewardmachines.core.sizes import flat_size
from rewardmachines.drawing import DrawingOptions, to_svg
from rewardmachines.drawing.layout.geometry import Box, Point
from rewardmachines.drawing.layout.measures import MAX_LINES, choose_wording
from rewardmachines.drawing.scene.compose import compose
from rewardmachines.drawing.scene.machine_shapes import span_width
from rewardmachines.drawing.scene.shapes import Circle, Group, Polygon, Text
from rewardmachines.drawing.symbols import LONG_LINE, edge_label, pretty, printable
from rewardmachines.library import find, names
from strategies import hierarchies

SVG = "{http://www.w3.org/2000/svg}"
LIBRARY = [name for name in names() if name.split("/")[0] in ("craftworld", "waterworld", "figures", "exponential")]
TASKS = [name for name in LIBRARY if "@" not in name]
PROPOSITION_NAMES = st.sampled_from(
    ["iron", "sugarcane", "milk bucket", "a_proposition_whose_name_is_far_longer_than_a_line_of_a_label", "über-größe"]
)


def renamed(subject: Hierarchy, new: dict[str, str]) -> Hierarchy:
    """The same hierarchy with other propositions."""

    def formula(old: Formula) -> Formula:
        return Formula(
            frozenset(
                Conjunction(frozenset(new[p] for p in d.required), frozenset(new[p] for p in d.forbidden))
                for d in old.disjuncts
            )
        )

    machines = (
        RewardMachine(
            one.name,
            one.states,
            tuple(Edge(e.source, e.target, formula(e.formula), e.callee) for e in one.edges),
            one.initial,
            one.accepting,
            one.rejecting,
        )
        for one in subject
    )
    return Hierarchy(subject.root, tuple(machines))


def texts_by_tooltip(svg: str) -> dict[str, list[list[str]]]:
    """The lines of text of every group, by its tooltip."""
    found: dict[str, list[list[str]]] = {}
    for group in ElementTree.fromstring(svg).iter(SVG + "g"):
        title = group.find(SVG + "title")
        lines = ["".join(text.itertext()) for text in group.iter(SVG + "text")]
        if title is not None and lines:
            found.setdefault(title.text or "", []).append(lines)
    return found


def packed(*lines: str) -> str:
    return "".join(lines).replace(" ", "")


def assert_whole(one: RewardMachine, found: dict[str, list[list[str]]]) -> None:
    signs = choose_wording(one).signs
    for edge in one.edges:
        label, formula = printable(edge_label(edge)), printable(pretty(edge.formula))
        shown = label
        if sign := signs.get(edge.formula):
            shown = sign if edge.calls_leaf else f"{printable(edge.callee)} | {sign}"
            assert [sign, packed(formula)] in [[first, packed(*rest)] for first, *rest in found[formula]]
        assert packed(shown) in [packed(*lines) for lines in found[label]]
        assert all(len(line) <= LONG_LINE for lines in found[label] for line in lines if label != formula or not sign)
    for name in (one.name, *one.states):
        assert packed(printable(name)) in [packed(*lines) for lines in found[printable(name)]]


@given(
    subject=hierarchies(deterministic=False, many_disjuncts=True),
    new=st.lists(PROPOSITION_NAMES, min_size=3, max_size=3, unique=True),
    direction=st.sampled_from(["right", "down"]),
)
@settings(max_examples=30, deadline=None)
def test_every_formula_of_any_hierarchy_is_whole_in_the_drawing(
    subject: Hierarchy, new: list[str], direction: str
) -> None:
    wordy = renamed(subject, dict(zip("abc", new, strict=True)))
    for one in wordy.reachable():
        options = DrawingOptions(machine=one.name, direction=direction)  # type: ignore[arg-type]
        assert_whole(one, texts_by_tooltip(to_svg(wordy, options=options)))


@given(name=st.text(min_size=1, max_size=200).filter(lambda name: name.strip() and name != "⊤"))
@settings(max_examples=30, deadline=None)
def test_long_names_of_machines_and_states_are_whole(name: str) -> None:
    inner = RewardMachine(name, ("u0" + name, name), (), "u0" + name, frozenset({name}))
    root = machine("0" + name, [("u0", "uA", "a", name), ("u0", "u0", "!a")])
    whole = hierarchy(root, inner)
    for one in whole:
        assert_whole(one, texts_by_tooltip(to_svg(whole, options=DrawingOptions(machine=one.name))))


def test_a_formula_of_more_than_four_lines_is_numbered_and_equal_ones_share_a_number() -> None:
    short = " & ".join(f"p{i}" for i in range(4))
    long = " | ".join(f"proposition{i} & !other{i}" for i in range(MAX_LINES + 1))
    one = machine("m", [("u0", "u1", long), ("u1", "uA", long, "n"), ("u0", "uA", short)])
    whole = hierarchy(one, machine("n", [("u0", "uA", "x")]))
    found = texts_by_tooltip(to_svg(whole, options=DrawingOptions(machine="m")))
    assert list(choose_wording(one).signs.values()) == ["φ₁"]
    assert found[edge_label(one.edges[1])] == [["n | φ₁"]]
    assert_whole(one, found)


def boxes(group: Group) -> list[Box]:
    """Of the texts of a group, and of its state."""
    found: list[Box] = []
    for shape in group.shapes:
        match shape:
            case Text():
                width = span_width(shape.spans, shape.size)
                middle = Point(shape.start.x + width / 2, shape.start.y - 0.35 * shape.size)
                found.append(Box(middle, width, shape.size))
            case Circle():
                found.append(Box(shape.middle, 2 * shape.radius, 2 * shape.radius))
            case Polygon():
                (left, *_, right), (top, *_, bottom) = (sorted(axis) for axis in zip(*shape.points, strict=True))
                found.append(Box(Point((left + right) / 2, (top + bottom) / 2), right - left, bottom - top))
            case _:
                pass
    return found


def assert_apart(subject: Hierarchy, options: DrawingOptions) -> None:
    """No text of a group lies on another's text or state, and all of them lie on the page."""
    scene = compose(subject, options)
    groups = [group for group in map(boxes, scene.groups) if group]
    for one, other in combinations(groups, 2):
        assert not any(a.overlaps(b) for a in one for b in other), (scene.title, one, other)
    for box in (box for group in groups for box in group):
        assert 0 <= box.left <= box.right <= scene.width, scene.title
        assert 0 <= box.top <= box.bottom <= scene.height, scene.title


def test_texts_and_states_of_the_whole_library_are_apart() -> None:
    for name in LIBRARY:
        assert_apart(find(name), DrawingOptions())


PAGES = [DrawingOptions(width=420), DrawingOptions(direction="down", frames=False)]


@pytest.mark.parametrize("options", PAGES, ids=["narrow", "down"])
def test_texts_and_states_of_tasks_are_apart_on_any_page(options: DrawingOptions) -> None:
    for name in TASKS:
        assert_apart(find(name), options)


@pytest.mark.parametrize("options", [DrawingOptions(), DrawingOptions(width=600)], ids=["page", "narrow"])
@pytest.mark.parametrize("domain", ["craftworld", "waterworld"])
def test_texts_and_states_of_flat_tasks_are_apart(domain: str, options: DrawingOptions) -> None:
    for name in TASKS:
        subject = find(name)
        if name.startswith(domain) and subject.height > 1 and flat_size(subject).states <= 30:
            assert_apart(flatten(subject), options)
