"""The errors, each named after the rule that it breaks."""

from __future__ import annotations

from typing import Final

_LONGEST: Final = 1_000
"""The largest number of characters of a message."""


def shortened(message: str) -> str:
    """The message without its middle, where a very long name makes it longer than anybody reads."""
    return message if len(message) <= _LONGEST else f"{message[: _LONGEST // 2 - 3]} … {message[-_LONGEST // 2 :]}"


class RewardMachineError(ValueError):
    """Something about a formula, machine, hierarchy, trace or task is wrong: the message says what to change.

    `subject` is what is wrong, where that is an edge: a reader of files finds the line of it. The message may be
    another error: so do processes hand errors on.
    """

    def __init__(self, message: object, subject: object = None) -> None:
        super().__init__(shortened(str(message)))
        self.subject = subject


class SyntaxProblem(RewardMachineError):
    """A text that cannot be read; the message says where."""


class ContradictionError(RewardMachineError):
    """A condition that no label can satisfy."""


class DuplicateNameError(RewardMachineError):
    """Two things under one name."""


class UnknownStateError(RewardMachineError):
    """A state that the machine does not have."""


class UnknownMachineError(RewardMachineError):
    """A machine that the hierarchy does not have."""


class UnknownPropositionError(RewardMachineError):
    """A proposition that was not declared."""


class TerminalEdgeError(RewardMachineError):
    """An edge that leaves an accepting or rejecting state."""


class TerminalInitialError(RewardMachineError):
    """A called machine that would return before it starts."""


class NoAcceptingStateError(RewardMachineError):
    """A machine that can never return."""


class CircularCallError(RewardMachineError):
    """A machine that would end up calling itself."""


class NondeterminismError(RewardMachineError):
    """A label on which two calls could start."""


class NotFlatError(RewardMachineError):
    """An operation for flat machines met a call."""


class TooLargeError(RewardMachineError):
    """A result that would be too large to build."""


class TooManyConfigurationsError(TooLargeError):
    """Two hierarchies whose comparison would take too long."""


class MissingExtraError(RewardMachineError, ImportError):
    """A library that only some uses of the package need, and that is not installed."""
