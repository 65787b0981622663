"""A hook of mkdocs: search shows how-tos before the reference, and decisions last."""

from __future__ import annotations

from typing import Any

BOOSTS = {"how-to": 3.0, "concepts": 2.0, "reference": 0.7, "decisions": 0.2}


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Set the boost of a page by its folder, unless the page sets its own."""
    folder = page.file.src_uri.partition("/")[0]
    page.meta.setdefault("search", {"boost": BOOSTS.get(folder, 1.0)})
    return markdown
