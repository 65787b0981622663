"""The page that shows the API comes from the control plane alone."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.api.conftest import Plane

PAGE = "/api/v1/api-docs/ui"


def test_the_page_names_no_other_host(plane: Plane) -> None:
    page = _ask(plane, PAGE)

    assert re.findall(r"(?:https?:)?//", page.text) == []
    assert "default-src 'self'" in page.headers["Content-Security-Policy"]
    assert "http" not in page.headers["Content-Security-Policy"]


def test_all_that_the_page_loads_is_served(plane: Plane) -> None:
    parts = re.findall(r'(?:src|href)="([^"]+)"', _ask(plane, PAGE).text)
    start = _ask(plane, parts[-1])
    [description] = re.findall(r'url: "([^"]+)"', start.text)

    kinds = [_ask(plane, part).headers["content-type"].partition(";")[0] for part in (*parts, description)]

    assert kinds == ["text/css", "text/javascript", "text/javascript", "application/json"]
    assert "SwaggerUIBundle" in _ask(plane, parts[1]).text
    assert "validatorUrl: null" in start.text  # else it has the description checked by a host elsewhere


def test_people_find_the_page_where_they_look_first(plane: Plane) -> None:
    assert _ask(plane, "/docs").url.path == PAGE


@pytest.mark.parametrize("asset", ["redoc.standalone.js", "..%2Fcore.py", "%2e%2e", "nothing.css"])
def test_api_page_serves_no_other_file_of_the_package(plane: Plane, asset: str) -> None:
    refused = plane.http.get(f"/api/v1/api-docs/{asset}", headers={"Authorization": ""})

    assert refused.status_code in (404, 422)


def _ask(plane: Plane, path: str) -> Any:
    """What a browser without a token is given."""
    answer = plane.http.get(path, headers={"Authorization": ""}, follow_redirects=True)
    assert answer.status_code == 200, path
    return answer
