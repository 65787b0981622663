"""What is committed of the page was built of its sources, and its own tests pass."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WEB = ROOT / "engine" / "web"


@pytest.fixture
def node() -> str:
    """Node, which only those need who change the page; but where every change is checked, it must be there."""
    found = shutil.which("npm")
    if found is None:
        assert not os.environ.get("CI"), "Node is missing: nobody knows whether the page is built of its sources"
        pytest.skip("there is no Node here")
    return found


def built(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_committed_page_is_built_from_its_sources(node: str, tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / ".ci" / "web.py", tmp_path], check=True)

    fresh, committed = built(tmp_path), built(WEB / "built")
    assert fresh.keys() == committed.keys(), "run `make web`"
    assert [name for name in fresh if fresh[name] != committed[name]] == [], "run `make web`"


def test_the_tests_of_the_page_pass(node: str) -> None:
    code = "import web; web.install()"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT / ".ci", check=True)
    environment = {**os.environ, "VITE_HOSTILE_TEXTS": os.environ.get("HOSTILE_TEXTS", "400")}
    played = subprocess.run(
        ["npx", "--no-install", "vitest", "run"], cwd=WEB, env=environment, capture_output=True, text=True, check=False
    )

    assert played.returncode == 0, played.stdout + played.stderr
    assert "no tests" not in played.stdout.lower()


def test_the_page_is_small_to_load_and_in_the_wheel(tmp_path: Path) -> None:
    files = built(WEB / "built")
    with zipfile.ZipFile(tmp_path / "part-of-the-wheel", "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, content in files.items():
            wheel.writestr(name, content)

    assert len(files) > 5
    assert sum(len(gzip.compress(content)) for content in files.values()) < 600_000
    assert (tmp_path / "part-of-the-wheel").stat().st_size < 1024**2


def test_versions_are_exact_and_no_file_names_a_host() -> None:
    package, lock = (WEB / "package.json").read_text(), (WEB / "package-lock.json").read_text()

    versions = re.findall(r'"(?:@[\w-]+/)?[\w-]+": "([^"]*\d+\.\d+[^"]*)"', package)
    assert versions
    assert [version for version in versions if not re.fullmatch(r"(>=)?\d+\.\d+(\.\d+)?", version)] == []
    assert re.findall(r'"resolved"|https?://(?:[\w-]+\.)*(?:npmjs|yarnpkg)', lock) == []


def test_page_inserts_no_markup() -> None:
    sources = list((WEB / "src").rglob("*.ts*"))

    wrong = re.compile(r"dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(")
    assert len(sources) > 10
    assert [path.name for path in sources if wrong.search(path.read_text())] == []
