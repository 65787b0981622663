"""The page comes from the control plane alone, and lets nothing else in."""

from __future__ import annotations

import gzip
import re

import pytest

from engine.api.http.web_page import BUILT
from tests.api.conftest import Plane

BUDGET = 600 * 1024


def test_the_page_and_all_that_it_loads_is_served_without_a_token(plane: Plane) -> None:
    page = plane.http.get("/", headers={"Authorization": ""})
    parts = re.findall(r'(?:src|href)="\./([^"]+)"', page.text)
    answers = {part: plane.http.get(f"/{part}", headers={"Authorization": ""}) for part in parts}

    assert page.headers["content-type"].startswith("text/html")
    assert {answer.status_code for answer in answers.values()} == {200}
    assert {answer.headers["content-type"].partition(";")[0] for answer in answers.values()} == {
        "text/javascript",
        "text/css",
        "image/svg+xml",
    }
    assert all("immutable" in answer.headers["cache-control"] for answer in answers.values())
    assert page.headers["cache-control"] == "no-cache"


def test_the_page_names_no_other_host_and_lets_no_script_stand_in_it(plane: Plane) -> None:
    page = plane.http.get("/")
    policy = dict(rule.strip().split(" ", 1) for rule in page.headers["content-security-policy"].split(";"))

    assert re.findall(r"(?:https?:)?//", page.text) == []
    assert re.findall(r"<script(?![^>]*\ssrc=)|\son\w+=|<style|\sstyle=", page.text) == []
    assert (policy["default-src"], policy["script-src"], policy["style-src"]) == ("'none'", "'self'", "'self'")
    assert (policy["connect-src"], policy["frame-ancestors"]) == ("'self'", "'none'")
    assert "unsafe" not in page.headers["content-security-policy"]
    assert page.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("name", ["nothing.js", "..%2Findex.html", "%2e%2e%2fpackage.json", "index.html", "."])
def test_only_built_files_are_served(plane: Plane, name: str) -> None:
    assert plane.http.get(f"/assets/{name}").status_code in (200, 404)
    assert plane.http.get(f"/assets/{name}").status_code == 404 or name == "."


def test_the_page_is_small() -> None:
    sizes = {path.name: len(gzip.compress(path.read_bytes())) for path in BUILT.rglob("*") if path.is_file()}

    assert sum(sizes.values()) < BUDGET, sizes


def test_files_of_the_page_are_compressed(plane: Plane) -> None:
    page = plane.http.get("/", headers={"Accept-Encoding": "gzip"})

    assert page.headers["content-encoding"] == "gzip"
    assert page.text == plane.http.get("/", headers={"Accept-Encoding": "identity"}).text
