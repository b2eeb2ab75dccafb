"""Programs that are compiled in the background, while other programs are compiled or run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any, Final

import jax

COMPILERS = 2
"""The number of programs that are compiled at the same time in the background."""
KEPT: Final = 8
"""The number of agents whose programs are cached for equal agents: one agent's programs take hundreds of mebibytes."""


@cache
def _compilers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(COMPILERS, thread_name_prefix="compiler")


class CompiledProgram:
    """A function that is compiled at its first call, or before, if `expect` has announced its arguments."""

    def __init__(self, function: Callable[..., Any], donate: Sequence[int] = ()) -> None:
        """Creates a program without compiling it.

        Args:
            function: A pure function of arrays.
            donate: The positions of arguments whose memory a call may reuse, so that they are invalid afterwards.
        """
        self._compiled = jax.jit(function, donate_argnums=donate)
        self._ahead: Future[jax.stages.Compiled] | None = None
        self.is_expected = False
        """Whether `expect` has announced the arguments."""

    def expect(self, *arguments: Any) -> None:
        """Starts the compilation for arguments with these shapes and types, and returns at once."""
        self.is_expected = True
        self._ahead = _compilers().submit(self._compiled.lower(*arguments).compile)

    def __call__(self, *arguments: Any) -> Any:
        if self._ahead is not None:
            try:
                return self._ahead.result()(*arguments)
            except TypeError:  # these arguments have other shapes or types
                self._ahead = None
        return self._compiled(*arguments)
