"""Planned runs that change the worker which they are sent to. Workers import this file, as they do the package."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import jax

from rewardmachines.runs import journal
from rewardmachines.studies.plan import PlannedRun
from rewardmachines.studies.sweep import worker


class OftenSaved(PlannedRun):
    """There is a checkpoint and a report after every chunk, so that a test need not wait for one."""

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        journal.CHECKPOINT_SECONDS = 0  # type: ignore[misc]
        worker._REPORT = 0.0  # type: ignore[misc]


class OnSeemingGpu(PlannedRun):
    """The device of the worker calls itself a GPU."""

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        jax.default_backend = lambda: "gpu"


class Deadly(PlannedRun):
    """The worker dies of it."""

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        os._exit(1)


def like(kind: type[PlannedRun], run: PlannedRun) -> PlannedRun:
    """The same run as another kind of record."""
    return kind(**{each.name: getattr(run, each.name) for each in fields(run)})
