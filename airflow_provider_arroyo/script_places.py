"""Find the locations that a script reads and writes when a DAG is parsed, from its text alone.

    CREATE TABLE counts WITH (connector = 'filesystem', path = '/lake/counts', ...)    file:///lake/counts
    ... (connector = 'delta', path = 's3://lake/counts', ...)                          s3://lake/counts
    ... (connector = 'kafka', bootstrap_servers = 'b:9092', topic = 'orders', ...)     kafka://b:9092/orders
    ... (path = '{{ params.folder }}/counts', ...)                                     unknown before rendering
    ... (connection_profile = 'events', ...)                                           unknown here

This is not an SQL parser: it only looks at the options of tables, INSERT INTO, and FROM. It leaves out uncertain cases;
the control plane reports the rest from the plan, once the task has run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""--[^\n]* | /\*.*?(?:\*/|\Z) | \{\#.*?(?:\#\}|\Z)   # comments; what is not closed is all the rest, once
    | (?P<template>\{\{.*?(?:\}\}|\Z))
    | '(?P<text>(?:''|\{\{.*?(?:\}\}|\Z)|[^'])*+)(?:'|\Z)   # possessive: not tried in 2^n other ways
    | "(?P<quoted>(?:""|[^"])*+)(?:"|\Z)
    | (?P<word>[^\W\d][\w$]*)
    | (?P<sign>\S)""",
    re.VERBOSE | re.DOTALL,
)
_OPENING, _CLOSING = "([", ")]"
_FILES = frozenset({"filesystem", "single_file", "delta"})
_BUCKET = re.compile(r"s3://([a-z0-9][a-z0-9.-]+)(/.*)?")
_TOPIC = re.compile(r"[\w.-]+", re.ASCII)
_ALSO_WRITTEN = frozenset({"late_rows", "dead_letter.table"})
"""Options of a table that name another table, which is also written."""
_ENDS_TABLES = frozenset(
    {"SELECT", "WHERE", "GROUP", "HAVING", "WINDOW", "ORDER", "LIMIT", "UNION", "EXCEPT", "INTERSECT"}
)
"""Keywords after a list of tables, or before a list of columns."""
_CALLS_WITH_FROM = ("EXTRACT", "TRIM", "SUBSTRING", "OVERLAY")
_KAFKA_PORT = 9092


@dataclass(frozen=True, slots=True)
class Places:
    """URIs of the locations that a script reads and writes."""

    reads: Sequence[str] = ()
    writes: Sequence[str] = ()
    written: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Written locations, by table name in lower case."""


def places_of(script: str) -> Places:
    """Return the locations in a script. One that a template builds is unknown before it is rendered."""
    if "{%" in script:
        return Places()
    found = _Script()
    for statement in _statements(script):
        found.add(statement)
    return found.places()


@dataclass(frozen=True, slots=True)
class _Token:
    """A token; `kind` is a group of the pattern."""

    kind: str
    text: str

    def says(self, *words: str) -> bool:
        return self.kind == "word" and self.text.upper() in words

    @property
    def name(self) -> str | None:
        """Return the name, if the token is one."""
        return self.text.lower() if self.kind in ("word", "quoted") else None


_NOTHING = _Token("sign", "")


@dataclass(slots=True)
class _Bracket:
    """An open bracket: whether a comma in it separates tables, and whether it belongs to a call with a FROM of its
    own."""

    lists_tables: bool = False
    is_call: bool = False


@dataclass(slots=True)
class _Script:
    """Tables found so far, by name."""

    tables: dict[str, Mapping[str, str]] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    has_prefix: bool = False
    """Whether the script writes under a prefix."""

    def add(self, tokens: Sequence[_Token]) -> None:
        """Read a statement."""
        match [token.text.upper() for token in tokens[:3]]:
            case ["SET", "SINK_PREFIX", *_]:
                self.has_prefix = True
            case ["CREATE", "TABLE", *_]:
                self._add_table(tokens[2:])
            case ["INSERT", "INTO", _]:
                self.written.add(tokens[2].name or "")
                self._add_reads(tokens[3:])
            case _:
                self._add_reads(tokens)

    def places(self) -> Places:
        """Return the locations of the tables that are written, and of those that are read."""
        reads, written = list[str](), dict[str, str]()
        for name, options in self.tables.items():
            kind, place = options.get("type"), _place(options)
            if place is None or kind == "lookup":
                continue
            if kind != "source" and name in self.written:
                written[name] = place
            elif kind != "sink" and name in self.read:
                reads.append(place)
        known = {} if self.has_prefix else written
        return Places(tuple(dict.fromkeys(reads)), tuple(dict.fromkeys(known.values())), known)

    def _add_table(self, tokens: Sequence[_Token]) -> None:
        if [token.text.upper() for token in tokens[:3]] == ["IF", "NOT", "EXISTS"]:
            tokens = tokens[3:]
        if not tokens or (name := tokens[0].name) is None:
            return
        at = _behind(tokens, 1)
        options: Mapping[str, str] = {}
        if at + 1 < len(tokens) and tokens[at].says("WITH") and tokens[at + 1].text == "(":
            end = _behind(tokens, at + 1)
            options, at = dict(_options(tokens[at + 2 : end - 1])), end
        self.tables[name] = options
        self.written |= {value.lower() for option, value in options.items() if option in _ALSO_WRITTEN}
        self._add_reads(tokens[at:])

    def _add_reads(self, tokens: Sequence[_Token]) -> None:
        self.read |= set(_tables_read(tokens))


def _statements(script: str) -> Iterator[Sequence[_Token]]:
    tokens: list[_Token] = []
    for match in _TOKEN.finditer(script):
        if match.lastgroup is None:
            continue
        if match.lastgroup == "sign" and match["sign"] == ";":
            yield tokens
            tokens = []
        else:
            tokens.append(_Token(match.lastgroup, match[match.lastgroup]))
    yield tokens


def _tables_read(tokens: Sequence[_Token]) -> Iterator[str]:
    """Yield the names after FROM and JOIN, and after the commas of a list of tables. The FROM of `extract(hour FROM
    at)` and of `a IS DISTINCT FROM b` is another one."""
    brackets = [_Bracket()]
    for earlier, before, token in zip((_NOTHING, *tokens), tokens, tokens[1:], strict=False):
        is_table = before.says("JOIN") or (
            before.says("FROM") and not brackets[-1].is_call and not earlier.says("DISTINCT")
        )
        if before.kind == "sign" and before.text in _OPENING:
            brackets.append(_Bracket(is_call=earlier.says(*_CALLS_WITH_FROM)))
        elif before.kind == "sign" and before.text in _CLOSING:
            brackets = brackets[:-1] or [_Bracket()]
        elif before.kind == "sign" and before.text == ",":
            is_table = brackets[-1].lists_tables
        elif is_table or before.says(*_ENDS_TABLES):
            brackets[-1].lists_tables = is_table
        if is_table and token.name is not None:
            yield token.name


def _behind(tokens: Sequence[_Token], at: int) -> int:
    """Return the position after the brackets that begin there; the same position if there are none."""
    depth = 0
    for end in range(at, len(tokens)):
        if tokens[end].kind == "sign":
            depth += (tokens[end].text in _OPENING) - (tokens[end].text in _CLOSING)
        if depth <= 0:
            return end + 1 if end > at else at
    return len(tokens)


def _options(tokens: Sequence[_Token]) -> Iterator[tuple[str, str]]:
    """Yield the options whose values are texts: `path = '/lake'`, `'source.watch' = 'true'`, `source.watch =
    'true'`."""
    for at, token in enumerate(tokens):
        is_sign = token.kind == "sign" and token.text == "="
        is_whole = at + 2 >= len(tokens) or tokens[at + 2].text == ","
        if is_sign and at + 1 < len(tokens) and tokens[at + 1].kind == "text" and is_whole:
            first = at
            while first > 0 and not (tokens[first - 1].kind == "sign" and tokens[first - 1].text == ","):
                first -= 1
            name = "".join(part.text for part in tokens[first:at])
            yield name.lower(), tokens[at + 1].text.replace("''", "'")


def _place(options: Mapping[str, str]) -> str | None:
    """Return the location of a table with these options; None if they do not tell it, or not all of it yet."""
    connector = options.get("connector")
    if connector in _FILES:
        return _place_of_files(options.get("path", ""))
    if connector == "kafka":
        return _place_of_topic(options.get("bootstrap_servers", ""), options.get("topic", ""))
    return None


def _place_of_files(path: str) -> str | None:
    if not _is_known(path):
        return None
    if bucket := _BUCKET.fullmatch(path):
        return f"s3://{bucket[1]}/{(bucket[2] or '').strip('/')}".rstrip("/")
    path = path.removeprefix("file://")
    return "file:///" + os.path.normpath(path).lstrip("/") if path.startswith("/") else None


def _place_of_topic(brokers: str, topic: str) -> str | None:
    """Return the URI by which the control plane names a topic: by the first of its brokers in alphabetical order."""
    servers = [broker.strip().lower() for broker in brokers.split(",") if broker.strip()]
    if not servers or not _is_known(brokers) or not _TOPIC.fullmatch(topic):
        return None
    named = [server if ":" in server.rpartition("]")[2] else f"{server}:{_KAFKA_PORT}" for server in servers]
    return f"kafka://{min(named)}/{topic}"


def _is_known(text: str) -> bool:
    """Whether no part is to be filled in later, by Airflow or by the driver."""
    return bool(text) and "{{" not in text and "${" not in text
