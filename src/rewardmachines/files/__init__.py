"""Hierarchies, tasks and traces on disk. Nothing that is loaded can run code."""

from rewardmachines.files.machines import dumps, load, loads, plain, save
from rewardmachines.files.tasks import TaskFile, load_tasks, loads_tasks
from rewardmachines.files.traces import (
    dump_traces,
    load_traces,
    loads_traces,
    parse_word,
    read_places,
    read_traces,
    save_traces,
)
from rewardmachines.files.writing import folder_aside, write_aside

__all__ = [
    "TaskFile",
    "dump_traces",
    "dumps",
    "folder_aside",
    "load",
    "load_tasks",
    "load_traces",
    "loads",
    "loads_tasks",
    "loads_traces",
    "parse_word",
    "plain",
    "read_places",
    "read_traces",
    "save",
    "save_traces",
    "write_aside",
]
