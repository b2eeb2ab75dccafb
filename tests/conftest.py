"""How hard property tests try: HYPOTHESIS_PROFILE=thorough for a long hunt. Ctrl-C means the same everywhere.

What JAX compiles is kept on disk, so that no program is compiled twice, neither in two test files nor in two processes,
and is dropped from memory when a process has become large. What the compiler has freed is given back to the system.
Much of the time of the tests is spent by the compiler, so it is asked for programs that are compiled quickly; in a
thorough hunt they are those that everybody else gets. Processes side by side keep to one core each.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

CACHE = Path(tempfile.gettempdir()) / f"rewardmachines-tests-{os.getuid()}"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(CACHE))  # before JAX is loaded
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "default")
if PROFILE != "thorough":
    os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
    if version("jaxlib").startswith("0.10."):  # a flag that a version does not know ends the process
        flags = ("--xla_cpu_use_fusion_emitters=false", "--xla_cpu_parallel_codegen_split_count=1")
        os.environ.setdefault("XLA_FLAGS", " ".join(flags))


def _keep_to_one_core() -> None:
    """Gives each of several test processes a core of its own, if there is one for each.

    The compiler and the programs start a thread for every core that they may use. With as many processes as cores,
    threads of one process take the time of another, which costs a seventh of the time of the tests.
    """
    name, count = os.environ.get("PYTEST_XDIST_WORKER"), os.environ.get("PYTEST_XDIST_WORKER_COUNT")
    if name is None or count is None or not hasattr(os, "sched_setaffinity"):
        return
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) == int(count):
        os.sched_setaffinity(0, {cores[int(name.removeprefix("gw")) % len(cores)]})


_keep_to_one_core()  # before JAX is loaded

import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "thorough",
    deadline=None,
    max_examples=5000,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile(PROFILE)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # What a shell starts in the background ignores Ctrl-C, and tests of Ctrl-C would wait for it in vain.
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Tracing makes many objects that live for long. By default each seven hundred of them are a reason to look for cycles,
# in which a fifth of the time of the tests was spent.
gc.set_threshold(50_000, 20, 20)


TOGETHER = ("rollout", "lhrm", "runs")
"""Folders whose files share whole runs and programs: one process takes all of a folder (`--dist loadgroup`)."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Large groups come first, so that no process is left with one at the end; otherwise a group is a file."""
    tests = Path(__file__).parent

    def group(item: pytest.Item) -> str:
        folder = item.path.parent.relative_to(tests).parts[:1] if item.path.is_relative_to(tests) else ()
        return folder[0] if folder and folder[0] in TOGETHER else str(item.path)

    for item in items:
        item.add_marker(pytest.mark.xdist_group(group(item)))
    items.sort(key=lambda item: group(item) not in TOGETHER)  # otherwise in their order


def pytest_collection_finish() -> None:
    """Modules and tests stay until the end: nobody need look at them again for cycles."""
    gc.collect()
    gc.freeze()


LARGE = 5 << 28
"""Bytes of memory with which a process is large: the next file must not bring it to two gibibytes."""
HUGE = 11 << 27
"""Bytes with which the next test must not begin: programs are dropped, although others of the file may need them."""


GROWTH = 1 << 28
"""Bytes that must have come in since programs were dropped last before they are dropped again."""

PROGRAMS = (
    ("rewardmachines.rollout.jax_driver", "compiled_programs"),
    ("rewardmachines.rollout.gym_driver", "gym_programs"),
    ("rewardmachines.rollout.policy", "_programs"),
)
"""Functions and objects that keep compiled programs, by module."""


def _memory() -> int:
    """Bytes of memory that this process has now, or where that is not known, enough to be large."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return LARGE


def _give_back() -> None:
    """Gives freed memory back to the system. The compiler frees most of what it took, but in the C library it stays."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of the GNU library
        if trim is not None:
            trim(0)


def _forget_programs() -> None:
    for module, name in PROGRAMS:
        if module in sys.modules:
            getattr(sys.modules[module], name).cache_clear()
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()
    gc.collect()
    _give_back()


class _Floor:
    """What a process has after it has forgotten everything that it could."""

    bytes = 0

    @classmethod
    def is_far_below(cls) -> bool:
        """Whether enough has come in since: forgetting takes time, and programs that are needed again take more."""
        return _memory() >= cls.bytes + GROWTH


def _stay_below(limit: int) -> None:
    """Gives freed memory back where a process is larger, and forgets programs if that is not enough."""
    if _memory() >= limit and _Floor.is_far_below():
        _give_back()
        if _memory() >= limit:
            _forget_programs()
        _Floor.bytes = _memory()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """A test may compile many programs, and the next one of the same file, too."""
    _stay_below(HUGE)


@pytest.fixture(scope="module", autouse=True)
def _small_processes() -> Iterator[None]:
    """Forgets compiled programs at the end of a file; the next one takes those that it needs from the disk."""
    yield
    _stay_below(LARGE)


@pytest.fixture(scope="module")
def two_rooms_domain() -> Iterator[None]:
    """The toy domain of LHRM has a name while the tests of a file run, as domains of packages have."""
    from lhrm.toy import two_rooms_registered  # loads JAX, which many tests do without

    with two_rooms_registered():
        yield
