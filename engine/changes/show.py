"""Render an upgrade plan: as a table for a terminal, as JSON, or as Markdown for a comment."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Literal

from engine.changes.verdict import Expected, UpgradePlan, Verdict

Form = Literal["text", "json", "markdown"]


def show(plan: UpgradePlan, form: Form = "text") -> str:
    """Return the plan as a text that ends with a line break."""
    match form:
        case "text":
            return _text(plan)
        case "json":
            return json.dumps(to_json(plan), indent=2) + "\n"
        case "markdown":
            return _markdown(plan)


def with_expected(shown: str, expected: Expected, form: Form) -> str:
    """Return a formatted plan with its expected effects."""
    match form:
        case "text":
            return shown + "".join(f"{line}\n" for line in expected.lines())
        case "json":
            return json.dumps({**json.loads(shown), "expected": expected.to_json()}, indent=2) + "\n"
        case "markdown":
            return shown + "".join(f"\n{_escaped(line)}.\n" for line in expected.lines())


def summary(plan: UpgradePlan) -> str:
    """Summarise the plan in a sentence."""
    refused = [verdict.name for verdict in plan.verdicts if verdict.change == "REFUSED"]
    if refused:
        return f"refused because of {', '.join(refused)}; nothing of it is done"
    if plan.is_same:
        return "nothing changes"
    lost = [verdict for verdict in plan.verdicts if verdict.loses]
    held_back = ", ".join(verdict.name for verdict in lost if verdict.change == "STATE_MIGRATED")
    wrong = ", ".join(verdict.name for verdict in lost if verdict.change == "RESTART")
    given_up = ", ".join(verdict.name for verdict in lost if verdict.change not in ("STATE_MIGRATED", "RESTART"))
    losses = [f"what {given_up} has kept is given up"] * bool(given_up)
    losses += [f"open windows of {held_back} are suppressed"] * bool(held_back)
    losses += [f"rows may stay in {wrong} that should not be there"] * bool(wrong)
    return "; ".join(losses) or "nothing is lost"


def to_json(plan: UpgradePlan) -> dict[str, object]:
    """Return the plan in plain values."""
    return {
        "id": plan.id,
        "is_same": plan.is_same,
        "is_refused": plan.is_refused,
        "loses_nothing": plan.loses_nothing,
        "summary": summary(plan),
        "verdicts": [asdict(verdict) for verdict in plan.verdicts],
    }


def _text(plan: UpgradePlan) -> str:
    rows = [("", "NAME", "CHANGE"), *((verdict.subject, verdict.name, verdict.change) for verdict in plan.verdicts)]
    widths = [max(len(row[place]) for row in rows) for place in range(3)]
    lines = [_line(rows[0], widths)]
    for verdict, row in zip(plan.verdicts, rows[1:], strict=True):
        lines.append(_line(row, widths))
        lines += [f"    {text}" for text in _remarks(verdict)]
    return "\n".join([*lines, "", f"plan {plan.id}: {summary(plan)}", ""])


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()


def _markdown(plan: UpgradePlan) -> str:
    lines = [
        f"**Plan `{plan.id}`**: {_escaped(summary(plan))}.",
        "",
        "| | name | change | |",
        "| --- | --- | --- | --- |",
    ]
    for verdict in plan.verdicts:
        remarks = "<br>".join(map(_escaped, _remarks(verdict)))
        name, change = _escaped(verdict.name), _escaped(verdict.change)
        lines.append(f"| {verdict.subject} | {name} | {change} | {remarks} |")
    return "\n".join(lines) + "\n"


def _remarks(verdict: Verdict) -> list[str]:
    return [text for text in (_figures(verdict), verdict.reason, verdict.shown) if text]


def _figures(verdict: Verdict) -> str:
    """Return how much state is kept or lost, in words; an empty text if that is unknown."""
    if verdict.bytes is None:
        return ""
    rows = "an unknown number of rows" if verdict.rows is None else f"{verdict.rows:,} row{'s'[: verdict.rows != 1]}"
    return f"{rows} in {verdict.bytes:,} bytes of state"


def _escaped(text: str) -> str:
    """Return text escaped for a cell of a table."""
    for sign in "\\|<>*_`":
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.split())
