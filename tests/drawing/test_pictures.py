"""SVG and PNG: well-formed, complete, the same each time, and refused with a reason."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings

from rewardmachines.core.errors import RewardMachineError, TooLargeError
from rewardmachines.core.hierarchy import Hierarchy, hierarchy
from rewardmachines.core.machine import Edge, RewardMachine, machine
from rewardmachines.core.text import parse_formula
from rewardmachines.core.traversal import initial_state
from rewardmachines.drawing import (
    DrawingOptions,
    LayoutEngine,
    save_drawing,
    to_dot,
    to_mermaid,
    to_pdf,
    to_png,
    to_svg,
)
from strategies import hierarchies

HOSTILE = "<b>&amp;\"'\\ $x^2$ \n\x00 ]]> 漢字 é \ud800 -->"
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
SVG = "{http://www.w3.org/2000/svg}"


def book() -> Hierarchy:
    return hierarchy(
        machine(
            "book",
            [
                ("u0", "u1", "!rabbit", "paper"),
                ("u0", "u2", "true", "leather"),
                ("u1", "u3", "true", "leather"),
                ("u2", "u3", "true", "paper"),
                ("u3", "uA", "table"),
            ],
        ),
        machine("paper", [("u0", "u1", "sugarcane"), ("u1", "uA", "workbench")]),
        machine("leather", [("u0", "u1", "rabbit"), ("u1", "uA", "workbench")]),
    )


def hostile() -> Hierarchy:
    """The same awkward name for everything that has one."""
    inner = machine(HOSTILE, [("u0", HOSTILE, "a")], accepting=[HOSTILE])
    edge = Edge("u0", HOSTILE, parse_formula('"<&>"'), HOSTILE)
    root = RewardMachine("root", ("u0", HOSTILE, "uR"), (edge,), "u0", frozenset({HOSTILE}), frozenset({"uR"}))
    return hierarchy(root, inner)


def chain(states: int) -> Hierarchy:
    edges = [(f"u{i}", f"u{i + 1}", "a") for i in range(states - 2)]
    return hierarchy(machine("chain", [*edges, (f"u{states - 2}", "uA", "a")]))


def texts(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg)
    return ["".join(element.itertext()) for tag in ("text", "title") for element in root.iter(SVG + tag)]


def png_size(png: bytes) -> tuple[int, int]:
    assert png.startswith(PNG_SIGNATURE)
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def svg_size(svg: str) -> tuple[float, float]:
    root = ElementTree.fromstring(svg)
    return float(root.attrib["width"]), float(root.attrib["height"])


@pytest.fixture
def no_graphviz(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


def pretend_graphviz(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> None:
    dot = folder / "dot"
    dot.write_text(f"#!/bin/sh\n{script}\n")
    dot.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


@given(subject=hierarchies(deterministic=False))
@settings(max_examples=40, deadline=None)
def test_every_svg_is_well_formed_and_mentions_every_machine_state_and_edge(subject: Hierarchy) -> None:
    found = texts(to_svg(subject))
    for one in subject.reachable():
        assert one.name in found
        assert set(one.states) <= set(found)
    assert found.count("u0") >= 2 * len(subject.reachable())


@given(subject=hierarchies(deterministic=False))
@settings(max_examples=20, deadline=None)
def test_the_same_hierarchy_gives_the_same_drawing(subject: Hierarchy) -> None:
    twin = Hierarchy(subject.root, subject.machines, subject.propositions)
    assert to_svg(subject) == to_svg(twin)
    assert to_dot(subject) == to_dot(twin)
    assert to_mermaid(subject) == to_mermaid(twin)


def test_drawings_do_not_depend_on_the_order_of_sets() -> None:
    program = (
        "from rewardmachines.core.hierarchy import hierarchy; from rewardmachines.core.machine import "
        "machine; from rewardmachines.drawing import to_dot, to_mermaid, to_svg\n"
        "one = hierarchy(machine('m', [('u0', 'uA', 'a & b & !c | d & !e | f'), ('u0', 'uB', 'g & h')], "
        "accepting=['uA', 'uB'], rejecting=['uR', 'uS']))\n"
        "print(to_dot(one), to_mermaid(one), to_svg(one))"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUTF8": "1"},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(printed) == 1


def test_calls_are_labelled_as_in_the_paper() -> None:
    found = texts(to_svg(book()))
    assert "paper | ¬rabbit" in found
    assert found.count("leather | ⊤") == 4  # two edges, each with a text and a tooltip
    assert "workbench" in found


def test_hostile_names_leave_svg_well_formed_and_png_and_pdf_without_a_warning() -> None:
    found = texts(to_svg(hostile()))
    assert any(text.startswith("<b>&amp;\"'\\ $x^2$ ↵") for text in found)
    assert png_size(to_png(hostile()))
    assert to_pdf(hostile()).startswith(b"%PDF-")


def test_a_png_has_as_many_pixels_as_the_svg_has_units_times_the_scale() -> None:
    width, height = svg_size(to_svg(book()))
    for scale in (1.0, 2.0):
        across, down = png_size(to_png(book(), scale=scale))
        assert abs(across - width * scale) <= 1
        assert abs(down - height * scale) <= 1


def test_a_very_wide_png_is_drawn_at_a_smaller_scale() -> None:
    assert max(png_size(to_png(chain(120), scale=10, options=DrawingOptions(width=1e6)))) <= 30_000


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan")])
def test_a_scale_that_is_not_positive_is_refused(scale: float) -> None:
    with pytest.raises(RewardMachineError, match="scale"):
        to_png(book(), scale=scale)


@pytest.mark.parametrize("draw", [to_svg, to_png, to_pdf])
def test_more_than_400_states_are_refused_with_their_number_and_advice(draw: object) -> None:
    assert callable(draw)
    with pytest.raises(TooLargeError, match=r"401 states.*hrm export --to dot"):
        draw(chain(401))


@pytest.mark.usefixtures("no_graphviz")
def test_without_dot_the_builtin_engine_draws() -> None:
    assert to_svg(book()) == to_svg(book(), engine=LayoutEngine.BUILTIN)


@pytest.mark.usefixtures("no_graphviz")
@pytest.mark.parametrize("draw", [to_svg, to_png, to_pdf])
def test_asking_for_graphviz_without_dot_says_what_to_do(draw: object) -> None:
    assert callable(draw)
    with pytest.raises(RewardMachineError, match="install Graphviz or choose the engine 'builtin'"):
        draw(book(), engine="graphviz")


def test_graphviz_draws_only_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pretend_graphviz(monkeypatch, tmp_path, "echo $1 $2; cat")
    dark = DrawingOptions(theme="dark", direction="down")
    assert to_svg(book(), engine="graphviz") == "-Tsvg\n" + to_dot(book())
    assert to_svg(book(), engine="graphviz", options=dark) == "-Tsvg\n" + to_dot(book(), dark)
    assert to_png(book(), engine="graphviz", scale=3).startswith(b"-Tpng -Gdpi=216\n")
    assert to_pdf(book(), engine="graphviz").startswith(b"-Tpdf\n")
    assert to_svg(book()).startswith("<svg")


def test_graphviz_lights_no_states(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pretend_graphviz(monkeypatch, tmp_path, "cat")
    with pytest.raises(RewardMachineError, match="only the engine 'builtin' lights states"):
        to_svg(book(), engine="graphviz", at=initial_state(book()))


def test_a_failing_dot_is_quoted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pretend_graphviz(monkeypatch, tmp_path, "cat > /dev/null; echo no such luck >&2; exit 3")
    with pytest.raises(RewardMachineError, match=r"Graphviz failed \(no such luck\).*'builtin'"):
        to_svg(book(), engine="graphviz")


def test_an_unknown_engine_is_refused_with_the_known_ones() -> None:
    with pytest.raises(RewardMachineError, match=r"'neato'.*'builtin', 'graphviz'"):
        to_svg(book(), engine="neato")


def test_the_suffix_chooses_what_is_saved(tmp_path: Path) -> None:
    expected = {
        "book.svg": to_svg(book()),
        "book.dot": to_dot(book()),
        "book.gv": to_dot(book()),
        "book.mmd": to_mermaid(book()),
        "book.md": f"```mermaid\n{to_mermaid(book())}```\n",
    }
    for name, content in expected.items():
        save_drawing(book(), tmp_path / name)
        assert (tmp_path / name).read_text(encoding="utf-8") == content
    save_drawing(book(), str(tmp_path / "book.PNG"))
    save_drawing(book(), tmp_path / "book.pdf")
    assert png_size((tmp_path / "book.PNG").read_bytes())
    assert (tmp_path / "book.pdf").read_bytes() == to_pdf(book())
    assert {path.name for path in tmp_path.iterdir()} == {*expected, "book.PNG", "book.pdf"}


@pytest.mark.parametrize("name", ["book.jpeg", "book"])
def test_an_unknown_suffix_is_refused_with_the_known_ones(tmp_path: Path, name: str) -> None:
    with pytest.raises(RewardMachineError, match=r"\.svg, \.pdf, \.png, \.dot, \.gv, \.mmd, \.md"):
        save_drawing(book(), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_drawing_that_fails_leaves_the_old_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "old.svg"
    path.write_text("old")
    with pytest.raises(TooLargeError):
        save_drawing(chain(401), path)
    assert [p.read_text() for p in tmp_path.iterdir()] == ["old"]


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(RewardMachineError, match=r"there is no folder '.*nowhere'"):
        save_drawing(book(), tmp_path / "nowhere" / "book.svg")
