"""ARCHITECTURE.md and CONTRIBUTING.md draw the layers there are, name files that exist, and explain a word once."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text()
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]


def section(title: str) -> str:
    return ARCHITECTURE.partition(f"## {title}\n")[2].partition("\n## ")[0]


def first_cells(table: str) -> list[str]:
    """What stands in the first column of a table, without its head."""
    rows = [line.strip("| ").split(" | ")[0] for line in table.splitlines() if line.startswith("|")]
    return rows[2:]


def test_the_layers_are_those_of_the_contract() -> None:
    [contract] = [contract for contract in CONTRACTS if contract["type"] == "layers"]
    promised = [set(re.findall(r"\w+", layer)) - {"testing"} for layer in contract["layers"]]

    assert [set(re.findall(r"`(\w+)`", cell)) for cell in first_cells(section("The layers"))] == promised


def test_every_package_of_the_engine_is_in_a_layer() -> None:
    drawn = set(re.findall(r"`(\w+)`", " ".join(first_cells(section("The layers")))))
    modules = {
        path.stem for path in (ROOT / "engine").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }

    assert drawn == modules - {"__init__"}


@pytest.mark.parametrize("paper", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_path_that_is_named_exists(paper: str) -> None:
    quoted = re.findall(r"`([\w./-]+)`", (ROOT / paper).read_text())
    paths = [text for text in quoted if "/" in text.strip("/") or text.endswith("/")]
    folders = (ROOT, ROOT / "engine") if paper == "ARCHITECTURE.md" else (ROOT,)

    assert len(paths) > 10
    assert [path for path in paths if not any((folder / path).exists() for folder in folders)] == []


def test_every_path_that_the_docs_name_exists() -> None:
    pages = [path for path in (ROOT / "docs").rglob("*.md") if "reference" not in path.parts]
    folders = "engine|airflow_provider_arroyo|tests|benchmarks|dags_examples|docs"
    names = [
        (page.name, path) for page in pages for path in re.findall(rf"`((?:{folders})/[\w./-]+)`", page.read_text())
    ]

    assert len(names) > 20
    assert [(page, path) for page, path in names if not (ROOT / path).exists()] == []


def test_every_page_that_the_code_names_exists() -> None:
    paths = [
        path for folder in ("engine", "airflow_provider_arroyo", "tests") for path in (ROOT / folder).rglob("*.py")
    ]
    names = [(path.name, page) for path in paths for page in re.findall(r"docs/[\w/-]+\.md", path.read_text())]

    assert [(path, page) for path, page in names if not (ROOT / page).exists()] == []


def test_the_glossary_is_short_sorted_and_names_the_code() -> None:
    table = section("The words")
    words = first_cells(table)
    places = [
        re.findall(r"`([\w./]+)`", line.strip("| ").split(" | ")[-1]) for line in table.splitlines() if "`" in line
    ]

    assert 25 <= len(words) <= 35, "a word of our own needs a reason: prefer the industry's"
    assert words == sorted(set(words))
    assert [len(each) for each in places] == [1] * len(words)
