"""Which rows of a table that keeps changing are not as they should be, once a condition behind the state is another.

A row is taken back by giving it again as it was, and what is taken back has to pass the conditions as well. So when
`count(*) > 3` is new:

    key   written   at the change              later
    a     a 2       does not pass: it stays    a 3: neither what is taken back nor the new row passes, and a 2 stays
    b     b 2       does not pass: it stays    b 4: b 2 is replaced
    c     c 5       as it should be

Nobody knows which rows a sink has of those, so nothing can be taken back for them. Where a condition goes instead, rows
that it has kept out are missing until their key changes next.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass

from engine.compile import Program
from engine.plan.explain import aggregate_name
from engine.plan.meaning import Meaning, Meanings
from engine.plan.nodes import Branch, UpdatingAggregate, is_updating
from engine.plan.tree import walk
from engine.plan.width_marks import marked
from engine.plan.widths import without_widths


@dataclass(frozen=True, slots=True)
class ChangedConditions:
    """The conditions that have come and gone, as their scripts say them."""

    came: tuple[str, ...]
    went: tuple[str, ...]

    @property
    def leaves_rows(self) -> bool:
        """Whether rows may stay that should not be there."""
        return bool(self.came)

    @property
    def reason(self) -> str:
        """What has changed."""
        changes = [*(f"+ {test}" for test in self.came), *(f"- {test}" for test in self.went)]
        return f"which of its rows come out has changed ({', '.join(changes)})"

    @property
    def shown(self) -> str:
        """Which rows are not as they should be, and for how long."""
        stay, missing = " AND ".join(self.came), " AND ".join(self.went)
        texts = [
            f"rows in it of which {stay} is not true stay until a row of their key passes again, also when their key "
            "changes or goes" * bool(stay),
            f"rows that {missing} has kept out are missing until their key changes" * bool(missing),
        ]
        return "; ".join(filter(None, texts))


def changed_conditions(before: Program, after: Program, table: str) -> ChangedConditions | None:
    """What differs in the conditions behind what a table has the changes of; None where nothing does but the width of
    numbers, or where its rows come from elsewhere."""
    came: set[str] = set()
    went: set[str] = set()
    new_changes = list(_changes_of(after, table))
    for old in _changes_of(before, table):
        for new in new_changes:
            if marked(old.meaning.origin).becomes(marked(new.meaning.origin)):
                other_code = _names(old.meaning.functions ^ new.meaning.functions)
                came |= {new.named(text) for text in new.tests if not _is_among(text, old.tests, other_code)}
                went |= {old.named(text) for text in old.tests if not _stays(text, new.tests, other_code)}
    return ChangedConditions(tuple(sorted(came)), tuple(sorted(went))) if came or went else None


@dataclass(frozen=True, slots=True)
class _Changes:
    """Changes that a table gets: what they mean whatever the width of numbers, and what the script calls aggregates."""

    meaning: Meaning
    names: Mapping[str, str]

    @property
    def tests(self) -> Mapping[str, str]:
        """What rows have passed since they left the operator below; what came to that, its own verdict says."""
        return {text: test for text, test in self.meaning.rows.items() if not test.startswith("the rows below ")}

    def named(self, text: str) -> str:
        """A test as the script says it."""
        said = re.sub(r"\w+", lambda match: self.names.get(match[0], match[0]), self.tests[text])
        return re.sub(r"\.⟦\w+⟧", "", said)


def _changes_of(program: Program, table: str) -> Iterator[_Changes]:
    parts = without_widths(program.parts)
    meanings = Meanings(program.digests, parts.branches)
    for write in parts.writes:
        below = [parts.branches[node.index] if isinstance(node, Branch) else node for node in walk(write.input)]
        if write.table == table and any(map(is_updating, below)):
            aggregates = (node for top in below for node in walk(top) if isinstance(node, UpdatingAggregate))
            top = next(aggregates, None)
            named = {} if top is None else {call.name: aggregate_name(call.aggregate) for call in top.aggregates}
            yield _Changes(meanings.of(write.input), named)


def _is_among(text: str, old_tests: Iterable[str], other_code: Set[str]) -> bool:
    return not _calls(text, other_code) and any(marked(old).becomes(marked(text)) for old in old_tests)


def _stays(text: str, new_tests: Iterable[str], other_code: Set[str]) -> bool:
    return not _calls(text, other_code) and any(marked(text).becomes(marked(new)) for new in new_tests)


def _names(functions: Set[str]) -> frozenset[str]:
    return frozenset(text.split()[0] for text in functions)


def _calls(text: str, functions: Set[str]) -> bool:
    return any(f"{name}(" in text for name in functions)
