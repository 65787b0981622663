"""Markdown helpers for the pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def page(title: str, introduction: str, sections: Iterable[str]) -> str:
    """A whole page; it says that it is not to be edited."""
    note = "<!-- Written by `make docs` from the declarations in the code. Do not edit. -->"
    return "\n\n".join([note, f"# {title}", introduction, *(section.strip() for section in sections)]) + "\n"


def section(title: str, *paragraphs: str) -> str:
    """A section with its heading; empty paragraphs are left out."""
    return "\n\n".join([f"## {title}", *(text for text in paragraphs if text)])


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; without rows it is empty text."""
    body = [f"| {' | '.join(map(_cell, row))} |" for row in rows]
    if not body:
        return ""
    return "\n".join([f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", *body])


def code(text: str) -> str:
    """Text as it is typed."""
    return f"`{text}`" if text else ""


def sentence(docstring: str | None) -> str:
    """A docstring on one line."""
    return " ".join((docstring or "").split())


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
