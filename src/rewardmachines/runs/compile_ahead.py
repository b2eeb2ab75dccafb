"""Compiled programs. One that is needed later is compiled while another one is, or runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any

import jax

COMPILERS = 2


@cache
def _compilers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(COMPILERS, thread_name_prefix="compiler")


class Program:
    """A function that is compiled when it is called first, or before, if it was said what it will be called with."""

    def __init__(self, function: Callable[..., Any], donate: Sequence[int] = ()) -> None:
        """What is donated cannot be used after a call."""
        self._compiled = jax.jit(function, donate_argnums=donate)
        self._ahead: Future[jax.stages.Compiled] | None = None
        self.is_expected = False
        """Whether it was said what it will be called with."""

    def expect(self, *arguments: Any) -> None:
        """Begins to compile for arguments such as these, and does not wait."""
        self.is_expected = True
        self._ahead = _compilers().submit(self._compiled.lower(*arguments).compile)

    def __call__(self, *arguments: Any) -> Any:
        if self._ahead is not None:
            try:
                return self._ahead.result()(*arguments)
            except TypeError:  # not such arguments any more
                self._ahead = None
        return self._compiled(*arguments)
