"""Frames of a film: of one size, with the present state and what waits for it lit."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy, hierarchy
from rewardmachines.core.machine import machine
from rewardmachines.core.traversal import HierarchyState, initial_state, step
from rewardmachines.drawing import DrawingOptions, draw_frame, frame_scale
from rewardmachines.drawing.scene.compose import compose
from rewardmachines.drawing.scene.machine_shapes import Lights, lights_at
from rewardmachines.drawing.scene.palette import LIGHT
from rewardmachines.drawing.scene.shapes import Circle, Ink, RoundedBox, Scene
from strategies import hierarchies


def errand() -> Hierarchy:
    return hierarchy(
        machine("errand", [("u0", "u1", "true", "fetch"), ("u1", "uA", "home")]),
        machine("fetch", [("u0", "u1", "shop"), ("u1", "uA", "bread")]),
    )


def in_the_shop() -> HierarchyState:
    return step(errand(), initial_state(errand()), frozenset({"shop"}))


def circles(scene: Scene, ink: Ink) -> list[str]:
    """The names of the states that are drawn in this ink."""
    return [
        group.tooltip
        for group in scene.groups
        for shape in group.shapes
        if isinstance(shape, Circle) and shape.ink == ink
    ]


def test_the_present_state_is_lit_and_those_that_wait_are_tinted() -> None:
    scene = compose(errand(), lights=lights_at(in_the_shop()))
    assert circles(scene, LIGHT.present) == ["u1"]
    assert circles(scene, LIGHT.waiting) == ["u0"]
    labels = [g.tooltip for g in scene.groups if RoundedBox in map(type, g.shapes) and g.shapes[0].ink == LIGHT.waiting]  # type: ignore[union-attr]
    assert labels == ["fetch | ⊤"]


def test_nothing_is_lit_without_a_state() -> None:
    assert lights_at(None) == Lights()
    assert not circles(compose(errand()), LIGHT.present)


@given(subject=hierarchies(deterministic=False))
@settings(max_examples=20, deadline=None)
def test_light_moves_nothing(subject: Hierarchy) -> None:
    dark, lit = compose(subject), compose(subject, lights=lights_at(initial_state(subject)))
    assert [group.tooltip for group in dark.groups] == [group.tooltip for group in lit.groups]
    assert (dark.width, dark.height) == (lit.width, lit.height)
    assert len(circles(lit, LIGHT.present)) == 1


@pytest.mark.parametrize(("width", "height"), [(320, 200), (123, 457)])
def test_frames_have_exactly_the_size_that_is_asked_for(width: int, height: int) -> None:
    frames = [draw_frame(errand(), state, width=width, height=height) for state in (None, in_the_shop())]
    assert [struct.unpack(">II", frame[16:24]) for frame in frames] == [(width, height)] * 2
    assert frames[0] != frames[1]


def test_letters_are_larger_in_larger_frames_and_of_one_machine() -> None:
    small = frame_scale(errand(), width=320, height=200)
    assert frame_scale(errand(), width=640, height=400) == pytest.approx(2 * small)
    assert frame_scale(errand(), width=320, height=200, options=DrawingOptions(machine="fetch")) > small


def test_a_machine_alone_is_lit_where_it_waits() -> None:
    scene = compose(errand(), DrawingOptions(machine="errand"), lights=lights_at(in_the_shop()))
    assert not circles(scene, LIGHT.present)
    assert circles(scene, LIGHT.waiting) == ["u0"]


def test_a_picture_without_a_size_is_refused() -> None:
    with pytest.raises(RewardMachineError, match="0 x 10 pixels"):
        draw_frame(errand(), None, width=0, height=10)


def test_an_unknown_theme_is_refused_with_the_known_ones() -> None:
    with pytest.raises(RewardMachineError, match="there is no theme 'sepia': choose one of 'light', 'dark'"):
        DrawingOptions(theme="sepia")  # type: ignore[arg-type]
