"""A release gathers the changes, each under its kind, and leaves nothing behind."""

from datetime import date
from pathlib import Path

import pytest

from engine.docs.changelog import change_files, release

ROOT = Path(__file__).parents[2]
HEAD = "# Changelog\n\nNewest first.\n"
DAY = date(2026, 1, 31)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "CHANGELOG.md").write_text(HEAD)
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / "README.md").write_text("how to write one\n")
    return tmp_path


def add(project: Path, name: str, text: str) -> None:
    (project / "changes" / name).write_text(text)


def test_entries_stand_under_their_kind_in_the_order_of_their_names(project: Path) -> None:
    add(project, "b.fixed.md", "A bug is gone.\n")
    add(project, "b.added.md", "A second thing,\nwhich takes two lines.\n")
    add(project, "a.added.md", "A first thing.\n")
    release(project, "0.1.0", DAY)

    assert (project / "CHANGELOG.md").read_text() == (
        f"{HEAD}\n## 0.1.0 (2026-01-31)\n\n"
        "### Added\n\n- A first thing.\n- A second thing, which takes two lines.\n\n"
        "### Fixed\n\n- A bug is gone.\n"
    )
    assert [path.name for path in (project / "changes").iterdir()] == ["README.md"]


def test_a_later_release_stands_above_the_earlier_one(project: Path) -> None:
    for version in ("0.1.0", "0.2.0"):
        add(project, "a.added.md", f"What {version} has.\n")
        release(project, version, DAY)
    text = (project / "CHANGELOG.md").read_text()

    assert text.startswith(f"{HEAD}\n## 0.2.0")
    assert text.index("What 0.2.0 has.\n\n## 0.1.0") < text.index("What 0.1.0 has.")


@pytest.mark.parametrize(
    ("name", "version", "complaint"),
    [
        ("a.added.md", "next", "'next' is not a version"),
        ("a.improved.md", "0.1.0", r"a\.improved\.md is not named"),
        ("README.md", "0.1.0", "there is nothing to release"),
    ],
)
def test_impossible_release_changes_no_file(project: Path, name: str, version: str, complaint: str) -> None:
    add(project, name, "Something.\n")
    with pytest.raises(ValueError, match=complaint):
        release(project, version, DAY)

    assert (project / "CHANGELOG.md").read_text() == HEAD
    assert (project / "changes" / name).exists()


def test_a_version_is_released_once(project: Path) -> None:
    add(project, "a.added.md", "Something.\n")
    release(project, "0.1.0", DAY)
    add(project, "b.added.md", "Something else.\n")
    with pytest.raises(ValueError, match=r"0\.1\.0 has been released already"):
        release(project, "0.1.0", DAY)


def test_the_changes_that_wait_are_named_for_their_kind() -> None:
    change_files(ROOT / "changes")
