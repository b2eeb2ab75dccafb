"""Labelled words in the format of the Abbadingo competition, in which samples for DFA identification are published.

The first line has the number of words and that of symbols. Each other line is a word: its class, its length, and its
symbols, which are numbers from 0. The class is 0 (rejected), 1 (accepted), a larger number for a Moore machine, or -1
if it is not known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from rewardmachines.core.errors import SyntaxProblem

UNKNOWN: Final = -1
"""The class of a word that has none."""
MAX_SYMBOLS: Final = 100_000


@dataclass(frozen=True)
class AbbadingoSample:
    """Words and their classes, in the order of the file."""

    words: tuple[tuple[int, ...], ...]
    classes: tuple[int, ...]
    alphabet: tuple[int, ...]

    def labelled(self) -> Iterator[tuple[tuple[int, ...], int]]:
        """The words whose class is known, each with it."""
        pairs = zip(self.words, self.classes, strict=True)
        return ((word, number) for word, number in pairs if number != UNKNOWN)


def read_abbadingo(text: str) -> AbbadingoSample:
    r"""Reads a sample.

    Args:
        text: The text of a file.

    Raises:
        RewardMachineError: The text is no such sample; the message names the line.

    >>> read_abbadingo("2 2\n1 3 0 1 0\n0 1 1").words
    ((0, 1, 0), (1,))
    """
    lines = [(number, line.split()) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    if not lines:
        raise SyntaxProblem("the text is empty: the first line is the number of words and that of symbols")
    (first, header), *rest = lines
    count, symbols = _header(header, first)
    words, classes = [], []
    for number, fields in rest:
        of_word, word = _word(fields, symbols, number)
        words.append(word)
        classes.append(of_word)
    if len(words) != count:
        raise SyntaxProblem(f"line {first}: {count} words are announced, but there are {len(words)}")
    return AbbadingoSample(tuple(words), tuple(classes), tuple(range(symbols)))


def write_abbadingo(sample: AbbadingoSample) -> str:
    """A sample as text; `read_abbadingo` gives it back."""
    pairs = zip(sample.classes, sample.words, strict=True)
    lines = (" ".join(map(str, (number, len(word), *word))) for number, word in pairs)
    return "\n".join([f"{len(sample.words)} {len(sample.alphabet)}", *lines]) + "\n"


def _header(fields: list[str], line: int) -> tuple[int, int]:
    numbers = _numbers(fields, line)
    if len(numbers) != 2:
        raise SyntaxProblem(f"line {line}: write the number of words and that of symbols, such as '200 2'")
    count, symbols = numbers
    if count < 0 or not 0 < symbols <= MAX_SYMBOLS:
        raise SyntaxProblem(f"line {line}: {symbols} symbols are announced: there are 1 to {MAX_SYMBOLS:,}")
    return count, symbols


def _word(fields: list[str], symbols: int, line: int) -> tuple[int, tuple[int, ...]]:
    numbers = _numbers(fields, line)
    if len(numbers) < 2:
        raise SyntaxProblem(f"line {line}: write the class, the length and the symbols, such as '1 3 0 1 0'")
    of_word, length, *word = numbers
    if of_word < UNKNOWN:
        raise SyntaxProblem(f"line {line}: a class is 0, 1, a larger number, or {UNKNOWN} if it is not known")
    if length != len(word):
        raise SyntaxProblem(f"line {line}: the length is {length}, but {len(word)} symbols follow")
    if wrong := [symbol for symbol in word if not 0 <= symbol < symbols]:
        raise SyntaxProblem(f"line {line}: there is no symbol {wrong[0]}, only 0 to {symbols - 1}")
    return of_word, tuple(word)


def _numbers(fields: list[str], line: int) -> list[int]:
    try:
        return [int(field) for field in fields]
    except ValueError:
        wrong = next(field for field in fields if not field.lstrip("+-").isdecimal())
        raise SyntaxProblem(f"line {line}: '{wrong[:20]}' is not a whole number") from None
