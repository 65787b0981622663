"""The page of a real control plane in the view of a real Airflow, in the Chromium of the operating system: one login,
one server that is asked, nothing wrong in the browser's console."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, FrameLocator, Page, expect

from airflow_provider_arroyo.views import view_of
from tests.real_airflow import RealAirflow
from tests.system.conftest import QUERY, Served
from tests.system.test_page import chromium  # noqa: F401 - a fixture

pytestmark = pytest.mark.timeout(900)

USERS = {"ann": ("admin", "the password of ann"), "vera": ("viewer", "the password of vera")}


@pytest.fixture(scope="module")
def airflow(shared: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealAirflow]:
    """An API server of Airflow whose connection leads to the control plane."""
    connection = {"conn_type": "arroyo", "host": shared.client.url, "password": shared.client.token}
    home = tmp_path_factory.mktemp("airflow")
    served, idle = ({"embedded": True, "data_dir": str(place)} for place in (shared.data_dir, home / "idle"))
    embedded = {
        f"AIRFLOW_CONN_{name}": json.dumps({"conn_type": "arroyo", "extra": extra})
        for name, extra in (("EMBEDDED", served), ("IDLE", idle))
    }
    with RealAirflow(home, json.dumps(connection), USERS, ("api",), settings=embedded) as started:
        yield started


class Visit:
    """A browser before Airflow, and what went wrong there."""

    def __init__(self, browser: Browser, airflow: RealAirflow) -> None:
        self.airflow = airflow
        self.context = browser.new_context(viewport={"width": 1160, "height": 720})
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(60_000)
        expect.set_options(timeout=60_000)
        self.wrong: list[str] = []
        self.refusals = ""
        """The status of answers that a test brings about: the browser notes each of them, when it comes to it."""
        self.asked: list[str] = []
        self.page.on("console", lambda message: self._note(message.type, message.text, message.location["url"]))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def log_in(self, name: str, place: str) -> Page:
        """Open a place of Airflow, which asks who comes, and goes there."""
        self.page.goto(self.airflow.url + place)
        self.page.locator("input[name=username]").fill(name)
        self.page.locator("input[name=password]").fill(USERS[name][1])
        self.page.get_by_role("button", name="Sign in").click()
        return self.page

    @property
    def frame(self) -> FrameLocator:
        """The page of the control plane."""
        return self.page.frame_locator("iframe[title=Arroyo]")

    def _note(self, kind: str, text: str, url: str) -> None:
        """What the console says of the frame, but of what Airflow lets every view do, and of states that drivers
        which only count do not have."""
        if text.startswith("An iframe which has both allow-scripts and allow-same-origin"):
            return
        if kind in {"error", "warning"} and "/arroyo/" in url and not url.endswith("/state"):
            self.wrong.append(f"{text} {url}")


@pytest.fixture
def visit(chromium: Browser, airflow: RealAirflow) -> Iterator[Visit]:  # noqa: F811
    opened = Visit(chromium, airflow)
    yield opened
    opened.context.close()
    refused = f"status of {opened.refusals} "
    assert [text for text in opened.wrong if not opened.refusals or refused not in text] == []


def test_whoever_has_logged_in_to_airflow_sees_a_pipeline_in_its_view_and_stops_it_there(
    visit: Visit, shared: Served, tmp_path: Path
) -> None:
    """`PICTURES=docs/pictures` has this test write its picture anew."""
    shared.deploy("clicks")
    shared.deploy("orders")
    shared.until_epoch(3, "clicks")
    shared.until_epoch(3)
    visit.log_in("ann", "/plugin/arroyo")
    visit.frame.get_by_role("link", name="arroyo_default", exact=True).click()

    row = visit.frame.get_by_role("row").filter(has=visit.frame.get_by_role("link", name="orders", exact=True))
    expect(row.get_by_text("Running")).to_be_visible()
    visit.page.screenshot(path=Path(os.environ.get("PICTURES", tmp_path)) / "airflow.png")
    expect(visit.frame.get_by_text("ann through Airflow")).to_be_visible()
    expect(visit.frame.get_by_role("button", name="Log out")).to_have_count(0)
    visit.frame.get_by_role("link", name="orders", exact=True).click()
    visit.frame.get_by_role("button", name="Stop", exact=True).click()
    visit.frame.get_by_role("dialog").get_by_role("button", name="Stop", exact=True).click()
    expect(visit.frame.get_by_text("Stopped", exact=True).first).to_be_visible()

    assert shared.job("orders")["state"] == "Stopped"
    assert [url for url in visit.asked if not url.startswith((visit.airflow.url, "data:", "blob:"))] == []
    assert shared.client.token not in "".join(str(cookie) for cookie in visit.context.cookies())


def test_the_link_of_a_task_asks_for_the_login_opens_its_pipeline_and_says_when_that_is_deleted(
    visit: Visit, shared: Served
) -> None:
    visit.refusals = "404"
    name = "50% <b>#of it?"
    made: Any = shared.client.send("POST", "/pipelines", {"name": name, "query": QUERY.format(says="")})
    page = visit.log_in("ann", view_of("arroyo_default", name))
    expect(visit.frame.get_by_role("heading", name=name, exact=True)).to_be_visible()

    shared.patch(made["id"], stop="immediate")
    shared.until(made["id"], state="Stopped")
    shared.client.send("DELETE", f"/pipelines/{made['id']}", None)
    expect(visit.frame.get_by_role("alert")).to_contain_text("pipeline.not_found")
    page.goto(visit.airflow.url + view_of("arroyo_default", name))
    expect(visit.frame.get_by_role("alert")).to_contain_text("pipeline.not_found")


def test_whom_airflow_does_not_let_see_the_connection_is_told_so(visit: Visit) -> None:
    visit.refusals = "403"
    page = visit.log_in("vera", view_of("arroyo_default", "orders"))
    expect(visit.frame.get_by_text("Airflow does not let vera see the connection 'arroyo_default'")).to_be_visible()

    page.goto(visit.airflow.url + "/plugin/arroyo")

    expect(visit.frame.get_by_text("There is no connection of type arroyo that you may see.")).to_be_visible()


def test_an_embedded_control_plane_is_found_by_its_directory_and_none_is_started_to_be_looked_at(
    visit: Visit, shared: Served
) -> None:
    visit.refusals = "503"
    shared.deploy("kept")
    visit.log_in("ann", view_of("embedded", "kept"))
    expect(visit.frame.get_by_role("heading", name="kept", exact=True)).to_be_visible()

    visit.page.goto(visit.airflow.url + view_of("idle", "kept"))

    expect(visit.frame.get_by_text("no embedded control plane runs in")).to_be_visible()
    assert not (visit.airflow.home / "idle").exists()


def test_whose_login_has_ended_is_told_so_and_goes_on_after_another(visit: Visit, shared: Served) -> None:
    visit.refusals = "401"
    shared.deploy("left")
    shared.until_epoch(1, "left")
    place = view_of("arroyo_default", "left")
    visit.log_in("ann", place)
    heading = visit.frame.get_by_role("heading", name="left", exact=True)
    expect(heading).to_be_visible()

    visit.context.clear_cookies()
    visit.frame.get_by_role("button", name="Stop", exact=True).click()  # what it would come to is asked at once

    expect(visit.frame.get_by_text("log in to Airflow, and load this page again")).to_be_visible()
    assert shared.job("left")["state"] == "Running"
    visit.log_in("ann", place)
    expect(heading).to_be_visible()
