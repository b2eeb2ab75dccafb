"""The documentation site: every page has its place, links are corrected, references are whole, what is shown is so."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import rewardmachines as rm
from rewardmachines import envs
from rewardmachines.cli.commands import COMMANDS, load_command
from rewardmachines.library import names

ROOT = Path(__file__).parents[2]


def script(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


reference_pages, site_pages = script("reference_pages"), script("site_pages")

GENERATED = {"reference/python.md", "reference/commands.md", "reference/settings.md"}


def pages(nav: list[dict[str, Any]]) -> Iterator[str]:
    for entry in nav:
        for target in entry.values():
            if isinstance(target, str):
                yield target
            else:
                yield from pages(target)


def navigation() -> set[str]:
    return set(pages(tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"]))


def test_every_page_has_its_place_in_the_site() -> None:
    written = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert navigation() == written | set(site_pages.TOP.values()) | GENERATED


@pytest.mark.parametrize(
    ("page", "link", "in_site"),
    [
        ("CONTRIBUTING.md", "[a](docs/speed.md#core)", "[a](speed.md#core)"),
        ("CONTRIBUTING.md", "![a](docs/images/book.svg)", "![a](images/book.svg)"),
        ("CONTRIBUTING.md", "[a]: docs/speed.md#core", "[a]: speed.md#core"),
        ("docs/tutorials/traces.md", "[a](../speed.md)", "[a](../speed.md)"),
        ("docs/tutorials/traces.md", "[a](../../CONTRIBUTING.md)", "[a](../contributing.md)"),
        ("docs/speed.md", "[a](../README.md)", "[a](index.md)"),
        ("docs/speed.md", "[a](../examples/taxi.py)", "[a](examples/taxi.md)"),
        ("docs/speed.md", "[a](../results/claim/claim.png)", "[a](results/claim/claim.png)"),
        ("docs/speed.md", "[the folder](../results)", "the folder"),
        ("docs/speed.md", "[results.md](results.md)", "[Results](results.md)"),
        ("docs/formats.md", r"| `a \| b` | either |", "| `a | b` | either |"),
        ("docs/speed.md", "[a](#core)", "[a](#core)"),
        ("docs/speed.md", "[a](https://example.org/x)", "[a](https://example.org/x)"),
        ("docs/speed.md", "```\n[a](nowhere.md)\n```", "```\n[a](nowhere.md)\n```"),
    ],
)
def test_links_of_the_repository_become_links_of_the_site(page: str, link: str, in_site: str) -> None:
    assert site_pages.corrected(f"{link}\n", page) == f"{in_site}\n"


def test_a_link_that_leads_nowhere_is_an_error() -> None:
    with pytest.raises(FileNotFoundError, match=r"docs/speed\.md: nowhere\.md leads nowhere"):
        site_pages.corrected("[a](nowhere.md)", "docs/speed.md")


def test_the_site_is_laid_out_with_all_pages_and_figures(tmp_path: Path) -> None:
    site_pages.lay_out(tmp_path / "docs")
    assert {page for page in navigation() - GENERATED if not (tmp_path / "docs" / page).is_file()} == set()
    assert (tmp_path / "docs" / "examples" / "taxi.md").is_file()
    assert (tmp_path / "docs" / "results" / "claim" / "claim.png").is_file()


def test_the_reference_has_every_public_name_once() -> None:
    named = re.findall(r"^::: rewardmachines\.([\w.]+)$", reference_pages.python_page(), re.MULTILINE)
    assert sorted(named) == sorted([*rm.__all__, *(f"envs.{name}" for name in envs.__all__)])


def test_the_reference_has_every_option_of_every_command() -> None:
    sections = dict(re.findall(r"^## hrm (\w+)\n(.*?)(?=^## |\Z)", reference_pages.commands_page(), re.M | re.S))
    assert list(sections) == list(COMMANDS)
    for name, text in sections.items():
        options = re.findall(r"^\| `(.*?)` \| \S", text, re.MULTILINE)
        assert len(options) == len(fields(load_command(name))) + 1, name  # and --help


def test_the_reference_has_every_setting_by_preset() -> None:
    page = reference_pages.settings_page()
    meaning = "The learning rate of the optimizer. *Can be a number.*"
    assert f"| `learning_rate` | `0.001` | `0.001` | `0.0005` | {meaning} |" in page
    assert page.count("| `batch` |") == len(reference_pages.SETTINGS)


def test_the_gallery_shows_every_hierarchy_of_the_library() -> None:
    page = (ROOT / "docs" / "gallery.md").read_text()
    drawn = re.findall(r"^### (.*)$", page, re.MULTILINE)
    own = [name for name in names() if name.partition("/")[0] in ("craftworld", "waterworld", "figures", "exponential")]
    assert sorted(drawn) == sorted(name for name in own if not {"+", "@"} & set(name))  # forms of the same tasks
