"""The search of the site finds the page for what users type: the real index, asked by the real code of the browser."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXPECTED = {
    "Kafka SASL": "how-to/kafka.html",
    "upgrade safely": "how-to/upgrade-with-state.html",
    "Prometheus lag": "how-to/monitoring.html",
    "run on a cluster": "how-to/spark-cluster.html",
    "write a UDF": "how-to/python-functions.html",
    "job failed": "how-to/failed-jobs.html",
    "dead letter": "how-to/bad-data.html",
    "secret password": "how-to/secrets-and-connections.html",
}


def test_the_hook_shows_how_tos_first_and_decisions_last() -> None:
    settings = (ROOT / "mkdocs.yml").read_text()
    hook = runpy.run_path(str(ROOT / ".ci" / "search_boost.py"))
    boosts = hook["BOOSTS"]

    assert "hooks: [.ci/search_boost.py]" in settings
    assert boosts["how-to"] > boosts["concepts"] > boosts["reference"] > boosts["decisions"]
    assert all((ROOT / "docs" / folder).is_dir() for folder in boosts)


@pytest.mark.system
def test_the_first_page_found_is_the_one_that_helps(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        assert not os.environ.get("CI"), "Node is missing: it is not known what the search finds"
        pytest.skip("there is no Node here")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path]
    subprocess.run(build, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, check=True)
    [worker] = (tmp_path / "assets" / "javascripts" / "workers").glob("search.*.min.js")
    index = tmp_path / "search" / "search_index.json"
    asked = [node, Path(__file__).with_name("ask_search.mjs"), worker, index, *EXPECTED]

    found = json.loads(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)

    assert {query: pages[0].partition("#")[0] if pages else None for query, pages in found.items()} == EXPECTED
