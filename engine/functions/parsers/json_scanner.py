"""Reading a JSONPath from left to right: names, numbers and marks, one behind the other."""

from __future__ import annotations

import re

_BLANKS = re.compile(r"[ \t\r\n]*")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "/": "/", "\\": "\\", "'": "'", '"': '"'}


class Scanner:
    """A text and how far it is read. What must come next and does not raises ValueError."""

    def __init__(self, text: str) -> None:
        self._text, self.position = text, 0

    @property
    def unread(self) -> str:
        """The text that is not read yet."""
        return self._text[self.position :]

    def take(self, mark: str) -> bool:
        """Whether this is what comes next; then it is read."""
        comes_next = self._text.startswith(mark, self.position)
        self.position += len(mark) if comes_next else 0
        return comes_next

    def expect(self, mark: str) -> None:
        """Read what must come next."""
        if not self.take(mark):
            raise ValueError(self.unread)

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Consume the next token if it matches the pattern."""
        match = pattern.match(self._text, self.position)
        self.position = match.end() if match else self.position
        return match

    def skip_blanks(self) -> None:
        """Read blanks."""
        self.match(_BLANKS)

    def quoted(self) -> str | None:
        """A text in single or double quotes, if one comes next."""
        mark = self._text[self.position : self.position + 1]
        if mark not in ("'", '"'):
            return None
        match = self.match(re.compile(rf"{mark}((?:[^{mark}\\]|\\.)*){mark}", re.DOTALL))
        if match is None:
            raise ValueError(self.unread)
        return _ESCAPE.sub(_unescape, match[1])


def _unescape(escape: re.Match[str]) -> str:
    code = escape[1]
    if len(code) == 5:
        return chr(int(code[1:], 16))
    if code not in _ESCAPED:
        raise ValueError(code)
    return _ESCAPED[code]
