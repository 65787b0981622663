"""What the sinks of a branch must have after its edits, worked out from the rows alone.

    epochs     0 1 2 3 4 5
    count(*)   ---------------   the branch began with epoch 0
    sum(n)           ---------   this aggregate came with epoch 2: NULL where rows were counted before

Each epoch's rows pass the filter that was in force then; what is given out has the form that was in force then.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

from tests.upgrade_fuzz.branches import Branch
from tests.upgrade_fuzz.data import Event, Size

Row = dict[str, object]
Name = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Era:
    """A form of a branch, the first epoch of it, and with which epoch each of its aggregates came."""

    first: int
    branch: Branch
    since: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class History:
    """What a branch has been since it began, with the epoch `begun`. Windows with rows of epochs before `held_until`
    are held back. Its sink `had_rows` if another one has written it before that began with nothing."""

    begun: int
    eras: tuple[Era, ...]
    held_until: int = 0
    had_rows: bool = False

    @staticmethod
    def of(branch: Branch, epoch: int, *, had_rows: bool = False) -> History:
        """One that begins with an epoch."""
        return History(epoch, (Era(epoch, branch, dict.fromkeys(branch.aggregates, epoch)),), had_rows=had_rows)

    def going_on(self, branch: Branch, epoch: int) -> History:
        """With another form from an epoch on, and all it knows."""
        since = {name: self.eras[-1].since.get(name, epoch) for name in branch.aggregates}
        return replace(self, eras=(*self.eras, Era(epoch, branch, since)))

    def holding_back(self, epoch: int) -> History:
        """The same, of which windows that are open at an epoch are not given out any more."""
        return replace(self, held_until=epoch)

    def at(self, epoch: int) -> Era:
        """The form in an epoch."""
        return next(era for era in reversed(self.eras) if era.first <= epoch)

    def written(self, group: Sequence[Event], until: int) -> Era:
        """The form in which a group is read: that of its newest row, or that of a condition which lets it out later."""
        written = self.at(group[-1].epoch)
        for before, after in pairwise(self.eras):
            if group[-1].epoch < after.first <= until and hides(before, group) and not hides(after, group):
                written = after
        return written

    def counted(self, events: Sequence[Event], until: int) -> list[Event]:
        """The rows that have come to its operator."""
        return [
            event
            for event in events
            if self.begun <= event.epoch <= until and _passes(self.at(event.epoch).branch.front, event.number)
        ]


def _passes(front: str, number: int) -> bool:
    return {"": True, "number % 3 <> 0": number % 3 != 0, "number < 15": number < 15}[front]


def _values(era: Era, group: Sequence[Event], first: int) -> Row:
    """The aggregates of a group, of which rows were counted from the epoch `first` on."""
    numbers = [event.number for event in group]
    whole: Row = {
        "n": len(numbers),
        "s": sum(numbers),
        "lo": min(numbers),
        "hi": max(numbers),
        "m": round(sum(numbers) / len(numbers), 6),
    }
    return {name: whole[name] if first >= era.since[name] else None for name in era.branch.aggregates}


def _shown(era: Era, values: Row) -> Row:
    adds = era.branch.adds
    return {name: round(value + adds, 6) if isinstance(value, int | float) else value for name, value in values.items()}


def _windows(history: History, events: Sequence[Event], until: int) -> dict[Name, tuple[list[Event], int]]:
    """By window and key its rows, and the first epoch with rows of the window, whatever their key."""
    branch = history.eras[-1].branch
    groups, firsts = defaultdict[Name, list[Event]](list), dict[object, int]()
    for event in history.counted(events, until):
        slide = branch.size // 2 if branch.kind == "hop" else branch.size
        last = event.minute // slide * slide
        key = event.number % 4 if branch.kind == "ranked" else event.key
        for start in (last,) if slide == branch.size else (last - slide, last):
            groups[start, key].append(event)
            firsts.setdefault(start, event.epoch)
    return {name: (group, firsts[name[0]]) for name, group in groups.items()}


def _sessions(history: History, events: Sequence[Event], until: int) -> dict[Name, tuple[list[Event], int]]:
    """By its begin and key each session."""
    gap, groups = history.eras[-1].branch.size, dict[Name, tuple[list[Event], int]]()
    newest: dict[str, list[Event]] = {}
    for event in history.counted(events, until):
        session = newest.get(event.key)
        if session is None or event.minute - session[-1].minute >= gap:
            session = newest[event.key] = []
            groups[event.minute, event.key] = (session, event.epoch)
        session.append(event)
    return groups


def _windows_with_values(history: History, events: Sequence[Event], until: int) -> dict[Name, Row]:
    era = history.eras[-1]
    groups = (_sessions if era.branch.kind == "session" else _windows)(history, events, until)
    return {name: _values(era, group, first) for name, (group, first) in groups.items() if first >= history.held_until}


def released(history: History, events: Sequence[Event], until: int) -> dict[Name, Row]:
    """What windows may give out in the newest form of a branch, by window and key. Not all of them are closed yet."""
    era, values = history.eras[-1], _windows_with_values(history, events, until)
    return {name: _shown(era, row) for name, row in values.items() if _comes_out(era.branch, name, values)}


def _comes_out(branch: Branch, name: Name, values: Mapping[Name, Row]) -> bool:
    """Whether a window's row passes what is behind it in a form of the branch."""
    if branch.kind != "ranked":
        return not branch.behind or _count(values[name]) % 2 == 0
    rivals = sorted((-_count(values[rival]), str(rival[1])) for rival in values if rival[0] == name[0])
    return rivals.index((-_count(values[name]), str(name[1]))) < branch.limit


def _count(row: Row) -> int:
    return int(str(row["n"]))


def must_be_there(history: History, events: Sequence[Event], until: int) -> set[Name]:
    """The windows that come out in whatever form of the branch they do."""
    values = _windows_with_values(history, events, until)
    return {name for name in values if all(_comes_out(era.branch, name, values) for era in history.eras)}


def hides(era: Era, group: Sequence[Event]) -> bool:
    """Whether a form of an updating branch does not let a group out."""
    return era.branch.behind and len(group) % 2 == 1


def kept_up(history: History, events: Sequence[Event], until: int) -> dict[Name, Sequence[Row | None]]:
    """The rows of which a reader has one of each group of an updating branch, None for no row; nothing where that
    depends on what was there before. A condition that was changed is told of all groups, in its first epoch. An
    aggregate that was away and is back has NULL, or all of its rows where none came while it was away."""
    groups = defaultdict[Name, list[Event]](list)
    for event in history.counted(events, until):
        groups[(event.number % history.eras[-1].branch.size,)].append(event)
    rows: dict[Name, Sequence[Row | None]] = {}
    for name, group in groups.items():
        if history.eras[-1].branch.kind == "first":
            era = history.at(group[0].epoch)
            rows[name] = [{"key": group[0].key, "number": group[0].number + era.branch.adds}]
            continue
        if hides(history.at(until), group):
            rows[name] = [] if history.had_rows else [None]
        else:
            rows[name] = _with_or_without_what_is_back(history, history.written(group, until), group)
    return rows


def _with_or_without_what_is_back(history: History, era: Era, group: Sequence[Event]) -> Sequence[Row]:
    shown, whole = _values(era, group, group[0].epoch), _values(era, group, group[-1].epoch)
    back = [name for name in shown if all(name in history.at(event.epoch).branch.aggregates for event in group)]
    choices = [{shown[name], whole[name]} if name in back else {shown[name]} for name in shown]
    return [dict(zip(shown, choice, strict=True)) for choice in product(*choices)]


def joined(
    history: History, events: Sequence[Event], sizes: Sequence[Size], began: int, epochs: range
) -> Counter[tuple[object, ...]]:
    """The pairs that come out in some epochs; the table sizes is read since the epoch `began`."""
    return Counter(
        (event.number + history.at(when).branch.adds, size.size)
        for event in history.counted(events, epochs.stop)
        for size in sizes
        if event.number % history.at(event.epoch).branch.size == size.size
        and began + size.step >= history.begun
        and (when := max(event.epoch, began + size.step)) in epochs
    )


def passed(history: History, events: Sequence[Event], epochs: range) -> Counter[tuple[object, ...]]:
    """The rows that go through in some epochs."""
    return Counter(
        (event.key, event.number + history.at(event.epoch).branch.adds)
        for event in history.counted(events, epochs.stop)
        if event.epoch in epochs
    )
