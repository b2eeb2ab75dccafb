"""The documentation site: every page has its place, links are corrected, references are whole, what is shown is so."""

from __future__ import annotations

import importlib.util
import re
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import rewardmachines as rm
from rewardmachines.cli.commands import COMMANDS, load_command
from rewardmachines.cli.main import main
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
SLOW = ("train", "evaluate", "learn")
"""Commands that take minutes; that they are understood is tested elsewhere."""

_SHOWN = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


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
    written = {site_pages.site_path(f"docs/{path.name}") for path in (ROOT / "docs").glob("*.md")}
    assert navigation() == written | set(site_pages.TOP.values()) | GENERATED


@pytest.mark.parametrize(
    ("page", "link", "in_site"),
    [
        ("README.md", "[a](docs/speed.md#core)", "[a](speed.md#core)"),
        ("README.md", "![a](docs/images/book.svg)", "![a](images/book.svg)"),
        ("README.md", "[a]: docs/speed.md#core", "[a]: speed.md#core"),
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
    named = re.findall(r"^::: rewardmachines\.(\w+)$", reference_pages.python_page(), re.MULTILINE)
    assert sorted(named) == sorted(rm.__all__)


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


@pytest.mark.parametrize("page", ["start.md", "concepts.md", "writing-a-task.md"])
def test_python_prints_what_is_shown(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = _SHOWN.findall((ROOT / "docs" / page).read_text())
    assert found
    for code, output in found:
        exec(compile(code, page, "exec"), {})
        assert capsys.readouterr().out == output


def test_the_gallery_shows_every_hierarchy_of_the_library() -> None:
    page = (ROOT / "docs" / "gallery.md").read_text()
    drawn = re.findall(r"^### (.*)$", page, re.MULTILINE)
    own = [name for name in names() if name.partition("/")[0] in ("craftworld", "waterworld", "figures", "exponential")]
    assert sorted(drawn) == sorted(name for name in own if not {"+", "@"} & set(name))  # forms of the same tasks


def quick_lines(page: str) -> list[str]:
    lines = re.findall(r"^ {4}hrm (.*)$", (ROOT / "docs" / page).read_text(), re.MULTILINE)
    return [line for line in lines if not line.startswith(SLOW)]


def test_the_first_minutes_go_as_they_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for line in quick_lines("start.md"):
        assert main(shlex.split(line)) == 0, line
    assert "verdict: accept" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {"mine.yaml", "mine.svg", "world.png"}


def test_a_task_is_written_as_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tasks,) = re.findall(r"^```yaml\n(.*?)^```$", (ROOT / "docs" / "writing-a-task.md").read_text(), re.M | re.S)
    Path("garden.yaml").write_text(tasks)
    statuses = {line: main(shlex.split(line)) for line in quick_lines("writing-a-task.md")}
    rejected = 'run twice.yaml --trace "wheat chicken table wheat lava"'
    assert {line for line, status in statuses.items() if status} <= {rejected}
    printed = capsys.readouterr().out
    assert re.findall(r"verdict: (\w+)", printed) == ["accept", "reject"]
    assert "equivalent on all labels" in printed
