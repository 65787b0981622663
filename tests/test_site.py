"""The site is built strictly, and asks nobody else for anything when it is read."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOADED = re.compile(r"""<(?:link|script|img|iframe)\b[^>]*?\b(?:src|href)=["']?(?:https?:)?//[^"'\s>]+""")
LOADING = ('class="mermaid', 'data-md-component="source"', "data-md-component=source")
"""What makes the theme's own script ask other servers, when a page has it."""


def test_the_site_is_built_without_a_broken_link_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, f"{built.stderr}\nno mkdocs? run `make setup`"
    pages = {path.name: path.read_text() for path in (tmp_path / "site").rglob("*.html")}

    assert len(pages) > 40
    assert {name: LOADED.findall(text) for name, text in pages.items() if LOADED.search(text)} == {}
    assert {name for name, text in pages.items() if any(mark in text for mark in LOADING)} == set()
