r"""Translate regular expressions from Rust's `regex`, which scripts use, to Java's, which Spark has.

    [[:digit:]]+$              [0-9]+\z                 `$` is only the end of the text, as in RE2 and Postgres
    (?P<user_id>\d+)           (?<userX5FXid>\d+)       Java's group names have only letters and digits
    (?m)^a                     (?m)(?:^|(?<=\n))a       Java has no line after the last newline
    [^[:alpha:]_]              [^a-zA-Z\_]
    (a)\1, a(?=b), a*+, \Z     refused: Rust has none of them, or another meaning

Java gets the flags U (Unicode classes) and d (only a newline ends a line). Spaces and comments of flag x are removed
here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from engine.errors import message_of

JAVA_REGEX = "java_regex"
"""Name of the kernel that translates patterns that are no constants."""
_POSIX = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "ascii": r"\x00-\x7F",
    "blank": r"\t\x20",
    "cntrl": r"\x00-\x1F\x7F",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": r"\x20-~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\x0B\f\r\x20",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_SAME_ESCAPES = frozenset("dDwWsSaftnr")
_OUTSIDE_CLASSES = _SAME_ESCAPES | frozenset("bBAz")
"""Escaped letters with the same meaning in both."""
_LETTERS_OF_CATEGORIES = {"L": "ultmo", "M": "nce", "N": "dlo", "P": "cdseifo", "S": "mcko", "Z": "slp", "C": "cfon"}
_LONG_CATEGORIES = {
    "Letter": "L",
    "Mark": "M",
    "Number": "N",
    "Punctuation": "P",
    "Symbol": "S",
    "Separator": "Z",
    "Other": "C",
    "Uppercase_Letter": "Lu",
    "Lowercase_Letter": "Ll",
    "Decimal_Number": "Nd",
    "Currency_Symbol": "Sc",
}
_SCRIPTS_AND_PROPERTIES = (
    *("Arabic", "Armenian", "Bengali", "Cyrillic", "Devanagari", "Ethiopic", "Georgian", "Greek", "Gujarati"),
    *("Gurmukhi", "Han", "Hangul", "Hebrew", "Hiragana", "Kannada", "Katakana", "Khmer", "Lao", "Latin", "Malayalam"),
    *("Mongolian", "Myanmar", "Sinhala", "Tamil", "Telugu", "Thai", "Tibetan"),
    *("Alphabetic", "Lowercase", "Uppercase", "White_Space", "Ideographic"),
)
_PROPERTIES = {
    **{f"{group}{letter}": f"{group}{letter}" for group, of in _LETTERS_OF_CATEGORIES.items() for letter in ("", *of)},
    **_LONG_CATEGORIES,
    **{name: f"Is{name}" for name in _SCRIPTS_AND_PROPERTIES},
}
_COUNTED = re.compile(r"\{\d+(,\d*)?\}")
_INLINE = re.compile(r"\?([imsxu]*)(-[imsx]+)?([:)])")
_NAMED = re.compile(r"\?P?<([A-Za-z_][A-Za-z0-9_.\[\]]*)>")
_FLAGS = re.compile(r"\(\?[ims-]+\)")
_LOOK_AROUND = ("?=", "?!", "?<=", "?<!")


class RegexError(ValueError):
    """A pattern that is not valid in Rust, or has no equivalent in Java; its text is the reason."""


@dataclass(frozen=True, slots=True)
class JavaRegex:
    """A Java pattern, with its number of capturing groups."""

    pattern: str
    groups: int


@lru_cache(maxsize=256)
def to_java(pattern: str, flags: str = "") -> JavaRegex:
    """Translate a pattern; raise RegexError with the reason why that cannot be done."""
    reader = _Reader(pattern, is_multiline="m" in flags, is_verbose="x" in flags)
    translated = reader.alternatives(is_inside=False)
    return JavaRegex(translated, reader.groups)


def is_regex(pattern: str) -> bool:
    """Whether a pattern can be translated, with spaces and comments or without."""
    return why_refused(pattern) is None


def why_refused(pattern: str) -> str | None:
    """Return why a pattern is refused; None if it is not."""
    try:
        to_java(pattern)
    except RegexError as error:
        try:
            to_java(pattern, "x")
        except RegexError:
            return message_of(error)
    return None


def java_name(name: str) -> str:
    """Return the name of a group in Java, where names have letters and digits alone."""
    spelled = re.sub(r"[^A-Za-z0-9]", lambda character: f"X{ord(character[0]):X}X", name)
    return spelled if spelled[0].isalpha() else f"X{spelled}"


class _Reader:
    """Parses a pattern from start to end."""

    def __init__(self, pattern: str, *, is_multiline: bool, is_verbose: bool) -> None:
        self.pattern = pattern
        self.at = 0
        self.groups = 0
        self.is_multiline = is_multiline
        self.is_verbose = is_verbose

    def alternatives(self, *, is_inside: bool) -> str:
        """Translate up to the parenthesis that closes a group, or to the end."""
        multiline, verbose = self.is_multiline, self.is_verbose
        translated, can_repeat = "", False
        while self.at < len(self.pattern):
            character = self.pattern[self.at]
            if character == ")" and is_inside:
                break
            if self._skips(character):
                continue
            if character in "*+?{":
                translated, can_repeat = translated + self._repetition(can_repeat), False
            elif character == "|":
                self.at, translated, can_repeat = self.at + 1, translated + "|", False
            else:
                part = self._atom(character)
                translated, can_repeat = translated + part, part != "" and not _FLAGS.fullmatch(part)
        # flags that are set inside a group end with it
        self.is_multiline, self.is_verbose = multiline, verbose
        return translated

    def _skips(self, character: str) -> bool:
        """Whether the character is a space or begins a comment of flag x; then it is passed over."""
        if not self.is_verbose or not (character.isspace() or character == "#"):
            return False
        if character == "#":
            end = self.pattern.find("\n", self.at)
            self.at = len(self.pattern) if end < 0 else end + 1
        else:
            self.at += 1
        return True

    def _repetition(self, can_repeat: bool) -> str:
        counted = _COUNTED.match(self.pattern, self.at)
        operator = counted[0] if counted else self.pattern[self.at]
        if operator == "{":
            raise RegexError("write { as \\{, or a count such as {2,3} behind what is repeated")
        if not can_repeat:
            raise RegexError(f"{operator} has nothing to repeat; put what it repeats into (?:...)")
        self.at += len(operator)
        if self.pattern[self.at : self.at + 1] == "?":
            self.at += 1
            operator += "?"
        return operator

    def _atom(self, character: str) -> str:
        match character:
            case "(":
                return self._group()
            case "[":
                return self._class()
            case "\\":
                return self._escape(in_class=False)
            case ")":
                raise RegexError("a ) closes nothing; write it as \\)")
        self.at += 1
        if character == "$":
            return "$" if self.is_multiline else r"\z"
        if character == "^":
            return r"(?:^|(?<=\n))" if self.is_multiline else "^"
        return "\\" + character if character in "]}" else character

    def _group(self) -> str:
        self.at += 1
        rest = self.pattern[self.at :]
        if rest.startswith(_LOOK_AROUND):
            raise RegexError("look-around is not supported; match what stands around, too")
        if (named := _NAMED.match(self.pattern, self.at)) is not None:
            self.at, head = named.end(), f"(?<{java_name(named[1])}>"
            self.groups += 1
        elif rest.startswith("?"):
            inline = _INLINE.match(self.pattern, self.at)
            if inline is None:
                raise RegexError(f"a group cannot begin with ({rest[:3]}")
            return self._flagged(inline)
        else:
            self.groups += 1
            head = "("
        return head + self._inside()

    def _inside(self) -> str:
        translated = self.alternatives(is_inside=True)
        if self.at >= len(self.pattern):
            raise RegexError("a ( is not closed; write it as \\( if it is no group")
        self.at += 1
        return translated + ")"

    def _flagged(self, inline: re.Match[str]) -> str:
        """Translate `(?i)` up to the end of the group around it, or `(?i:...)`."""
        self.at = inline.end()
        on, off = inline[1], inline[2] or ""
        before = self.is_multiline, self.is_verbose
        self.is_multiline = (self.is_multiline or "m" in on) and "m" not in off
        self.is_verbose = (self.is_verbose or "x" in on) and "x" not in off
        kept = "".join(letter for letter in on if letter in "ims")
        dropped = "".join(letter for letter in off if letter in "ims")
        spelled = kept + (f"-{dropped}" if dropped else "")
        if inline[3] == ")":
            return f"(?{spelled})" if spelled else ""
        translated = f"(?{spelled}:{self._inside()}"
        self.is_multiline, self.is_verbose = before
        return translated

    def _escape(self, *, in_class: bool) -> str:
        """Translate a backslash with what follows it."""
        letter = self.pattern[self.at + 1 : self.at + 2]
        if not letter:
            raise RegexError("the pattern ends with a backslash; write it twice")
        if letter in "xuU":
            return self._code_point(letter)
        if letter in "pP":
            return self._property(letter)
        self.at += 2
        if letter == "v":
            return r"\x0B"
        if letter in (_SAME_ESCAPES if in_class else _OUTSIDE_CLASSES):
            return "\\" + letter
        if letter.isdigit():
            raise RegexError(f"\\{letter} is not supported: there are no back-references")
        if letter.isalpha() or letter in "<>":
            raise RegexError(f"\\{letter} is not supported")
        return "\\" + letter if letter.isascii() else letter

    def _code_point(self, letter: str) -> str:
        digits = {"x": 2, "u": 4, "U": 8}[letter]
        found = re.compile(rf"\{{([0-9A-Fa-f]{{1,6}})\}}|([0-9A-Fa-f]{{{digits}}})").match(self.pattern, self.at + 2)
        if found is None or int(found[1] or found[2], 16) > 0x10FFFF:
            raise RegexError(f"\\{letter} wants {digits} hexadecimal digits, or some in braces")
        self.at = found.end()
        return f"\\x{{{found[1] or found[2]}}}"

    def _property(self, letter: str) -> str:
        found = re.compile(r"\{(\^?)(?:(?:Script|sc|gc|General_Category)=)?(\w+)\}|([A-Z])").match(
            self.pattern, self.at + 2
        )
        name = None if found is None else _PROPERTIES.get(found[2] or found[3])
        if found is None or name is None:
            raise RegexError(
                f"\\{letter} names no class of characters that is known, such as \\p{{Greek}} or \\p{{Lu}}"
            )
        self.at = found.end()
        return f"\\{letter if not found[1] else letter.swapcase()}{{{name}}}"

    def _class(self) -> str:
        """Translate a class in brackets."""
        self.at += 1
        is_negated = self._takes("^")
        members, is_first, has_nested = "", True, False
        while True:
            if self.at >= len(self.pattern):
                raise RegexError("a [ is not closed; write it as \\[ if it is no class")
            character = self.pattern[self.at]
            if character == "]" and not is_first:
                self.at += 1
                break
            if self.is_verbose and character.isspace():
                self.at += 1
                continue
            member = self._member(character)
            has_nested = has_nested or member.startswith("[") or member == "&&"
            members, is_first = members + member, False
        if is_negated and has_nested:
            # what Java negates beside a class within a class differs between its versions
            return f"(?:(?![{members}])(?s:.))"
        return f"[{'^' if is_negated else ''}{members}]"

    def _member(self, character: str) -> str:
        posix = re.compile(r"\[:(\^?)(\w+):\]").match(self.pattern, self.at)
        if posix is not None:
            if posix[2] not in _POSIX:
                raise RegexError(f"[:{posix[2]}:] is no class of characters")
            self.at = posix.end()
            return f"[^{_POSIX[posix[2]]}]" if posix[1] else _POSIX[posix[2]]
        if character == "[":
            return self._class()
        if character == "\\":
            return self._escape(in_class=True)
        pair = self.pattern[self.at : self.at + 2]
        if pair in ("--", "~~"):
            raise RegexError(f"{pair} in a class is not supported; use && with a negated class")
        self.at += len(pair) if pair == "&&" else 1
        if pair == "&&":
            return pair
        if character == "-" and self.pattern[self.at : self.at + 1] != "]" and self.pattern[self.at - 2] not in "[^":
            return "-"
        return "\\" + character if character in "[]^&-#~ " else character

    def _takes(self, text: str) -> bool:
        if not self.pattern.startswith(text, self.at):
            return False
        self.at += len(text)
        return True
