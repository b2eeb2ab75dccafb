"""The tokens of the Hanoi Omega-Automata format, and the lines that they stand on."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from rewardmachines.core.errors import SyntaxProblem, TooLargeError

MAX_CHARACTERS: Final = 2_000_000
_MAX_DIGITS: Final = 9

_BLANK: Final = re.compile(r"[ \t\r\n]*+")
_COMMENT_MARK: Final = re.compile(r"/\*|\*/")
_ESCAPE: Final = re.compile(r"\\u\{(0*(?:10[0-9a-f]{4}|[0-9a-f]{1,5}))\}|\\(.)", re.DOTALL)
"""The escapes of quoted texts: a character stands for its code or, as in other tools, for itself."""
_TOKEN: Final = re.compile(
    r"""
        (?P<string>"(?:[^"\\]|\\.)*+")
      | (?P<int>[0-9]++)
      | (?P<header>[A-Za-z_][0-9A-Za-z_-]*+:)
      | (?P<identifier>[A-Za-z_][0-9A-Za-z_-]*+)
      | (?P<alias>@[0-9A-Za-z_-]++)
      | (?P<symbol>--(?:BODY|END|ABORT)--|[!&|()\[\]{}])
    """,
    re.VERBOSE | re.DOTALL,
)


class HoaToken(NamedTuple):
    """`kind` is "string", "int", "header" (its colon included), "identifier", "alias", "end", or the symbol itself."""

    kind: str
    text: str
    line: int
    stop: int
    """The position in the text where the token ends."""


class Tokens:
    """Reads one text from left to right, and says on which line it stopped making sense."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_CHARACTERS:
            raise TooLargeError(f"a text of {len(text):,} characters is too long: at most {MAX_CHARACTERS:,} are read")
        self._text = text
        self.token = self._scan(0, 1)
        """The next token, not yet taken."""

    def go_back(self, token: HoaToken) -> None:
        """Makes a token that was taken before the next one again."""
        self.token = token

    def take(self, *kinds: str) -> HoaToken | None:
        """The next token, if it is of one of these kinds."""
        token = self.token
        if token.kind not in kinds:
            return None
        if token.kind != "end":
            self.token = self._scan(token.stop, token.line + token.text.count("\n"))
        return token

    def expect(self, kind: str, wanted: str) -> HoaToken:
        """The next token, which must be of this kind."""
        token = self.take(kind)
        if token is None:
            raise self.unexpected(wanted)
        return token

    def number(self, wanted: str) -> int:
        """The next token, which must be a number of a sensible size."""
        token = self.expect("int", wanted)
        if len(token.text) > _MAX_DIGITS:
            raise self.problem(f"the number {token.text[:_MAX_DIGITS]}... is too large", token)
        return int(token.text)

    def string(self, wanted: str) -> str:
        """The next token, which must be a quoted text, without its quotes."""
        quoted = self.expect("string", wanted).text
        return _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else found[2], quoted[1:-1])

    def unexpected(self, wanted: str) -> SyntaxProblem:
        """An error that says what was wanted in place of the next token."""
        actual = "the text ends" if self.token.kind == "end" else f"found {_excerpt(self.token.text)}"
        return self.problem(f"expected {wanted}, but {actual}")

    def problem(self, message: str, token: HoaToken | None = None) -> SyntaxProblem:
        """An error that names the line of a token, the next one if none is given."""
        return problem(message, (token or self.token).line)

    def _scan(self, position: int, line: int) -> HoaToken:
        start = self._skip_blanks_and_comments(position, line)
        line += self._text.count("\n", position, start)
        if start == len(self._text):
            return HoaToken("end", "", line, start)
        match = _TOKEN.match(self._text, start)
        if match is None:
            raise problem(self._unreadable(start), line)
        group = str(match.lastgroup)
        return HoaToken(match.group() if group == "symbol" else group, match.group(), line, match.end())

    def _skip_blanks_and_comments(self, position: int, line: int) -> int:
        """Comments nest."""
        begin, depth = position, 0
        while True:
            if depth == 0:
                position = _after_blanks(self._text, position)
                if not self._text.startswith("/*", position):
                    return position
            mark = _COMMENT_MARK.search(self._text, position)
            if mark is None:
                raise problem("a comment is not closed: write '*/'", line + self._text.count("\n", begin, position))
            depth += 1 if mark.group() == "/*" else -1
            position = mark.end()

    def _unreadable(self, position: int) -> str:
        if self._text[position] == '"':
            return "this quoted string is not closed"
        return f"{self._text[position]!r} means nothing here; names go in double quotes"


def problem(message: str, line: int) -> SyntaxProblem:
    """An error that names the line."""
    return SyntaxProblem(f"HOA, line {line}: {message}")


def _after_blanks(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    assert match is not None
    return match.end()


def _excerpt(text: str) -> str:
    shown = text if len(text) <= 40 else text[:40] + "…"
    return shown if shown.startswith('"') else f"'{shown}'"
