"""Hints that give an operator a name of its own: `SELECT /*+ id(name) */ ...`.

    SELECT /*+ id(visits) */ user, count(*)
    FROM (SELECT /*+ id(seen_with) */ * FROM clicks JOIN users ON ...) GROUP BY user

    visits        the groups: of all that this SELECT keeps itself, what is nearest to the rows that it gives
    seen_with     the join: it would be the groups' if it stood without a SELECT of its own

What a SELECT reads (a view, a table of WITH, a sub-query in FROM) is not its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from engine.errors import EngineError, HintError, TextPosition
from engine.plan.state.operators import is_stateful
from engine.plan.tree import Node, inputs_of, with_inputs
from engine.sql.text.parse import Script
from engine.sql.text.pieces import BEHIND_SELECT, MISPLACED

MAX_LENGTH = 63
_FORM = re.compile(r"/\*\+\s*(?:(?P<hint>\w+)\s*\((?P<name>[^()]*)\))?(?P<rest>.*?)\*/", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_USAGE = "write SELECT /*+ id(name) */, one for a SELECT"
_WHERE = "put it behind the SELECT of the window, GROUP BY, DISTINCT, ranking or join that it is to name"


@dataclass(slots=True)
class OperatorHints:
    """The hints of a script: where each name stands, and which of them have found their operator."""

    names: dict[str, TextPosition] = field(default_factory=dict)
    found: set[str] = field(default_factory=set)

    def read(self, statement: exp.Expr, script: Script) -> Iterator[EngineError]:
        """Take the hints of a statement, and give a complaint for each that cannot be."""
        hints = statement.find_all(exp.Hint)
        for hint in sorted(hints, key=lambda node: int(node.meta["start"])):
            at = script.position(hint)
            assert at is not None, "the dialect notes where it stands"
            try:
                if not isinstance(hint.parent, exp.Select):
                    raise HintError(MISPLACED, hint=BEHIND_SELECT)
                name = name_of(hint)
                if name.lower() in map(str.lower, self.names):
                    raise HintError(f"id({name}) is given twice", hint="an operator has a name to itself")
                self.names[name] = at
            except HintError as error:
                error.at = at
                yield error

    def pin(self, rows: Node, hint: exp.Hint, read: Sequence[Node]) -> Node:
        """The rows of a SELECT with a hint, its operator called by that. `read` is what it reads of others."""
        name = name_of(hint)
        found = _pinned(rows, name, {id(node) for node in read})
        if found is None:
            raise HintError(f"id({name}) names no operator: its SELECT keeps no state", hint=_WHERE)
        self.found.add(name)
        return found

    def complaints(self, used: set[str]) -> Iterator[EngineError]:
        """Yield the errors in hints after everything is read. `used` are the names of tables."""
        for name, at in self.names.items():
            if name.lower() in used:
                yield HintError(f"id({name}) is the name of a table", hint="give the operator another name", at=at)
            elif name not in self.found:
                message = f"id({name}) names no operator: its SELECT is taken together with the one around it"
                yield HintError(message, hint="put the hint into that one", at=at)


def hint_of(select: exp.Expr) -> exp.Hint | None:
    """The hint of a SELECT."""
    hint: exp.Hint | None = select.args.get("hint")
    return hint


def name_of(hint: exp.Hint) -> str:
    """The name that a hint gives; refused when it is another hint, or no name."""
    written = str(hint.meta["written"])
    match = _FORM.fullmatch(written)
    text = " ".join(written.split())
    if match is None or match["hint"] is None or match["hint"].lower() != "id":
        raise HintError(f"there is no hint {text}", hint=_USAGE)
    name = match["name"].strip()
    if match["rest"].strip():
        raise HintError(f"{text} is more than one hint", hint=_USAGE)
    if not _NAME.fullmatch(name) or len(name) > MAX_LENGTH:
        message = f"{name!r} cannot be the name of an operator"
        raise HintError(message, hint=f"letters, digits and underscores can, up to {MAX_LENGTH}, not a digit first")
    return name


def _pinned(node: Node, name: str, read: set[int]) -> Node | None:
    """The tree with the first operator from the top called so, unless that is in what is read."""
    if id(node) in read:
        return None
    if is_stateful(node):
        return replace(node, pin=name)
    below = list(inputs_of(node))
    for place, part in enumerate(below):
        if (changed := _pinned(part, name, read)) is not None:
            return with_inputs(node, [*below[:place], changed, *below[place + 1 :]])
    return None
