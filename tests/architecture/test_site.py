"""The papers are true: every link leads somewhere, every page is reached, every script on a page compiles."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine.compile import compile_script
from engine.jobs.decisions.states import STATES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
PAPERS = [
    *PAGES,
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "benchmarks/README.md")),
]
NAVIGATION = set(re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def links(path: Path) -> list[str]:
    """Where the links and pictures of a page lead, without those of the web."""
    text = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    return [target for target in targets if not re.match(r"https?:|mailto:", target)]


def scripts() -> list[tuple[str, str]]:
    """The whole scripts of all pages that people have written, each with its page."""
    blocks = [
        (name_of(path), block)
        for path in PAGES
        if "reference" not in path.parts
        for block in re.findall(r"```sql\n(.*?)```", path.read_text(), re.DOTALL)
    ]
    return [(page, block) for page, block in blocks if "INSERT INTO" in block]


@pytest.mark.parametrize("path", PAPERS, ids=name_of)
def test_every_link_leads_to_a_file(path: Path) -> None:
    files = [target.partition("#")[0] for target in links(path)]

    assert [file for file in files if file and not (path.parent / file).exists()] == []


def test_the_site_links_nothing_outside_of_docs() -> None:
    outside = [
        (name_of(path), target)
        for path in PAGES
        for target in links(path)
        if not (path.parent / target.partition("#")[0]).resolve().is_relative_to(DOCS)
    ]

    assert outside == []


def test_every_page_is_in_the_navigation_or_in_the_list_of_its_kind() -> None:
    listed = {f"decisions/{target}" for target in links(DOCS / "decisions" / "index.md")}
    for overview in ("connectors.md", "airflow.md"):
        listed |= {f"reference/{target}" for target in links(DOCS / "reference" / overview)}
    names = {path.relative_to(DOCS).as_posix() for path in PAGES}

    assert names - NAVIGATION - listed == set()
    assert NAVIGATION - names == set()


def test_the_drawing_of_a_jobs_life_has_every_state_and_no_other() -> None:
    drawing = (DOCS / "concepts" / "job-states.svg").read_text()

    assert set(re.findall(r'font-weight="bold">(\w+)<', drawing)) == {str(state) for state in STATES}


@pytest.mark.parametrize(("page", "script"), scripts(), ids=lambda value: value if value.endswith(".md") else "")
def test_every_whole_script_on_a_page_compiles(page: str, script: str) -> None:
    assert compile_script(script).fingerprint, page
