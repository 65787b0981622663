"""Requests that are refused as invalid are told why in words of their sender."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import pytest
from fastapi import FastAPI, Query
from fastapi.testclient import TestClient
from pydantic import Field

from engine.api.http import problems
from engine.api.http.bodies import Body
from engine.api.pipelines.deployments import Name, Secrets

pytestmark = pytest.mark.unit


class Order(Body):
    query: str = Field(default="SELECT 1", min_length=1)
    name: str = Field(default="a", max_length=3)
    parallelism: int = Field(default=1, ge=1, le=8)
    upgrade: Literal["auto", "never"] = "auto"
    place: str = Field(default="a", pattern="^[a-z]+$")
    after: str = Field(default="1", pattern="^[0-9]{1,18}$")
    copy_name: Name = "copy"
    secrets: Secrets = Field(default={})
    token_uses: int = Field(default=1, ge=1)
    labels: dict[str, int] = Field(default={})


@pytest.fixture(scope="module")
def client() -> TestClient:
    app = FastAPI()
    problems.install(app)

    @app.post("/orders")
    def order(order: Order, limit: Annotated[int, Query(ge=1)] = 1) -> int:
        return order.parallelism + limit

    return TestClient(app)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"query": ""}, "query is empty"),
        ({"name": "orders"}, "name must have 3 characters or fewer"),
        ({"parallelism": 0}, "parallelism must be 1 or more, and is 0"),
        ({"parallelism": 9}, "parallelism must be 8 or less, and is 9"),
        ({"parallelism": "two"}, "parallelism must be a whole number, and is 'two'"),
        ({"parallelism": None}, "parallelism must be a whole number, and is null"),
        ({"parallelism": "9" * 100 + "x"}, "parallelism must be a whole number"),
        ({"upgrade": "now"}, "upgrade must be 'auto' or 'never', and is 'now'"),
        ({"place": "a b"}, "place must be of the form ^[a-z]+$, and is 'a b'"),
        ({"copy_name": "a/b"}, "copy_name must have no slash, no backslash and no control character, and is 'a/b'"),
        ({"after": "x"}, "after must be what an answer before has named, and is 'x'"),
        ({"speed": "secret"}, "speed is not known here"),
        ({"secrets": {"password": 7331}}, "secrets.password must be text"),
        ({"token_uses": -7331}, "token_uses must be 1 or more"),
        ({"labels": {"a": "x"}}, "labels.a must be a whole number, and is 'x'"),
        ([], "the body must be an object"),
        ({"name": "\ud800"}, "the body: text has half of a surrogate pair, which is no character"),
    ],
)
def test_a_body_is_refused_in_words(client: TestClient, body: Any, words: str) -> None:
    refused = client.post("/orders", content=json.dumps(body), headers={"Content-Type": "application/json"})
    assert (refused.status_code, refused.json()["detail"]) == (422, words)


def test_a_parameter_and_text_that_is_no_json(client: TestClient) -> None:
    refused = client.post("/orders?limit=0", json={"parallelism": 0}).json()
    assert [complaint["message"] for complaint in refused["errors"]] == [
        "limit must be 1 or more, and is '0'",
        "parallelism must be 1 or more, and is 0",
    ]
    assert client.post("/orders").json()["detail"] == "the body is missing"
    broken = client.post("/orders", content="{", headers={"Content-Type": "application/json"})
    assert broken.json()["detail"].startswith("the body is not JSON: ")
