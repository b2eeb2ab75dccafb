"""The files of the machines that a run has learned, and of the examples that they explain."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rewardmachines.files import dump_traces
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.folder import LearnFolder
from rewardmachines.runs.folder import machine_text
from rewardmachines.runs.written import remove_file, write_file


class MachineFiles:
    """Keeps the files of machines and examples up to date. Only files that have changed are written.

    The files of the run's tasks are the run's; others in the same folders are left alone.
    """

    def __init__(self, folder: LearnFolder) -> None:
        self._folder = folder
        self._contents: Mapping[Path, str] = {}

    def update(self, run: Lhrm) -> None:
        """Writes the files of all learned machines, and removes those of machines that the run has dropped."""
        contents: dict[Path, str] = {}
        for name in run.pool.learned:
            contents[self._folder.machine(name)] = machine_text(run.pool.hierarchy(name).rooted(name))
            contents[self._folder.example_file(name)] = dump_traces(run.learnings[name].examples.traces)
        for name in run.tasks:
            for path in (self._folder.machine(name), self._folder.example_file(name)):
                if path not in contents:
                    remove_file(path)
        for path, content in contents.items():
            if self._contents.get(path) != content:
                write_file(path, content)
        self._contents = contents
