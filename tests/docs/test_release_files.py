"""The files that a forge and a package index read say the same as the package."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import rewardmachines as rm

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TEMPLATES = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.md"))


def read_yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def test_the_version_is_the_same_everywhere() -> None:
    sections = re.findall(r"^## \[(\S+)\] - (?:unreleased|\d{4}-\d\d-\d\d)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert PROJECT["version"] == rm.__version__ == read_yaml(ROOT / "CITATION.cff")["version"] == sections[0]


def test_the_changelog_has_the_sections_of_its_form() -> None:
    sections = re.findall(r"^### (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert set(sections) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_citation_has_what_its_format_requires_and_names_the_paper() -> None:
    citation = read_yaml(ROOT / "CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["license"] == PROJECT["license"]
    assert [paper["title"] for paper in citation["references"]] == ["Hierarchies of Reward Machines"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_make_what_there_is_to_make(path: Path) -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for job in read_yaml(path)["jobs"].values():
        commands = [step["run"].split() for step in job["steps"] if "run" in step]
        assert commands[-1][0] == "make"
        assert {command[1] for command in commands if command[0] == "make"} <= set(targets)


def test_the_suite_runs_on_every_python_that_the_package_names() -> None:
    tested = read_yaml(ROOT / ".github" / "workflows" / "test.yml")["jobs"]["test"]["strategy"]["matrix"]["python"]
    named = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r":: Python :: 3\.\d+$", c)]
    assert tested == named
    assert PROJECT["requires-python"] == f">={named[0]}"


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_issue_templates_say_what_they_are_for(path: Path) -> None:
    _, front, body = path.read_text().split("---\n", 2)
    assert {"name", "about"} <= set(yaml.safe_load(front))
    assert body.strip()


def rewrite(repository: str | None) -> str:
    description = runpy.run_path(str(ROOT / "setup.py"))["description"]
    return str(description((ROOT / "README.md").read_text(), repository))


def test_the_description_leads_nowhere_without_a_repository() -> None:
    text = rewrite(None)
    assert re.findall(r"\]\((?!https?:)|\]\[|^\[.*\]: (?!https?:)|!\[", text, re.MULTILINE) == []
    assert text.count("\n#") == (ROOT / "README.md").read_text().count("\n#")


def test_the_description_leads_into_the_repository_if_there_is_one() -> None:
    text = rewrite("https://forge.test/rewardmachines/")
    assert "](https://forge.test/rewardmachines/raw/HEAD/docs/images/" in text
    assert re.findall(r"\]\((?!https?:)|^\[.*\]: (?!https?:)", text, re.MULTILINE) == []
