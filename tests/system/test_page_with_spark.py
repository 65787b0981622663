"""The page before pipelines that really compute, with a state, savepoints and versions of the engine's own."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect

from tests.system.conftest import ROOT, Served, until
from tests.system.test_page import HOSTILE, SCRIPT, Visit, chromium, confirm

__all__ = ["chromium"]

LONG = 400.0
SIZE: ViewportSize = {"width": 1160, "height": 720}
LISTS = {"login": 400, "jobs": 400, "output": 460, "events": 460, "logs": 460, "query": 400, "connections": 400}
"""So much of what goes on alike is in a picture."""
QUERY = """CREATE TABLE bids WITH (connector = 'nexmark', event_rate = '1000');
CREATE TABLE sales (at TIMESTAMP, auction BIGINT, bids BIGINT)
WITH (connector = 'filesystem', path = '{folder}', format = 'json', type = 'sink');

-- how often each auction is bid for
INSERT INTO sales SELECT w.end, auction, bids FROM (
  SELECT tumble(INTERVAL '1 second') AS w, bid.auction AS auction, count(*) AS bids
  FROM bids WHERE bid IS NOT NULL GROUP BY 1, 2);
CREATE TABLE prices (at TIMESTAMP, auction BIGINT, price BIGINT) WITH (connector = 'preview');
INSERT INTO prices SELECT bid.datetime, bid.auction, bid.price FROM bids WHERE bid.price > 1000000;
"""


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A control plane whose drivers compute."""
    served = Served(tmp_path_factory.mktemp("real"), driver=None).start()
    yield served
    served.close()


NOWHERE = Path("/srv/shop/clicks")
"""Where a preview would write, if it wrote; its picture in the docs shows no temporary folder."""
PREVIEWED = """CREATE TABLE clicks WITH (connector = 'impulse', event_rate = '2');
CREATE TABLE written (n BIGINT UNSIGNED, text TEXT, large BIGINT)
WITH (connector = 'filesystem', path = '{folder}', format = 'json', type = 'sink');
CREATE TABLE other (n BIGINT UNSIGNED)
WITH (connector = 'filesystem', path = '{folder}2', format = 'json', type = 'sink');

-- {script}
INSERT INTO written SELECT counter, '{hostile}', 9007199254740993 FROM clicks;
INSERT INTO other SELECT counter FROM clicks;
"""
LATE = """CREATE TABLE orders (at TIMESTAMP NOT NULL, amount BIGINT, WATERMARK FOR at) WITH (
  connector = 'filesystem', type = 'source', format = 'json', path = '{folder}/orders', source.watch = 'true',
  late_rows = 'late_orders');
CREATE TABLE late_orders (event_time TIMESTAMP, amount BIGINT)
WITH (connector = 'filesystem', type = 'sink', format = 'parquet', path = '{folder}/late');
CREATE TABLE sums (start TIMESTAMP, amount BIGINT)
WITH (connector = 'filesystem', type = 'sink', format = 'json', path = '{folder}/sums');
INSERT INTO sums SELECT w.start, amount
FROM (SELECT tumble(INTERVAL '1 minute') AS w, sum(amount) AS amount FROM orders GROUP BY 1);
"""
BROKEN = """CREATE TABLE lines (n BIGINT)
WITH (connector = 'single_file', path = '{file}', format = 'json', type = 'source');
SELECT n FROM lines;
"""


def pictures_in(folder: Path) -> Path:
    """Where pictures are put: into a folder of the test, or where whoever wants new ones says."""
    return Path(os.environ.get("PICTURES", folder))


def savepoint(served: Served, name: str, label: str) -> None:
    """Have a savepoint taken."""
    served.client.send("POST", f"/pipelines/{name}/savepoints", {"label": label})
    until(lambda: str(served.client.get(f"/pipelines/{name}/savepoints")), lambda text: "'completed'" in text, LONG)


@pytest.fixture(scope="module")
def folder(real: Served) -> Path:
    """Where a pipeline writes that has a savepoint."""
    folder = real.data_dir.parent / "written"
    real.deploy("sales", query=QUERY.format(folder=folder / "sales"), tags={"team": "shop"})
    real.until_epoch(2, "sales", within=LONG)
    savepoint(real, "sales", "monday")
    return folder


def furnish(served: Served) -> None:
    """Keep what the pages show that are of no pipeline."""
    send = served.client.send
    broker = {"bootstrap_servers": "broker.shop.example:9092"}
    profile: Any = send("POST", "/connection_profiles", {"name": "shop", "connector": "kafka", "config": {**broker}})
    columns = "id BIGINT NOT NULL, price BIGINT, at TIMESTAMP NOT NULL, WATERMARK FOR at"
    table: dict[str, Any] = {
        "name": "orders",
        "connector": "kafka",
        "connection_profile_id": profile["id"],
        "config": {"topic": "orders", "type": "source"},
        "schema": {"columns": columns, "format": "json"},
    }
    send("POST", "/connection_tables", table)
    schedule: dict[str, Any] = {
        "cron": "30 2 * * *",
        "time_zone": "Europe/Berlin",
        "retention": {"keep_last": 3, "daily": 7},
    }
    send("PUT", "/pipelines/sales/savepoint-schedule", schedule)
    send("POST", "/tokens", {"name": "airflow"})


def test_each_page_has_its_picture_in_the_docs(chromium: Browser, real: Served, folder: Path, tmp_path: Path) -> None:
    """`PICTURES=docs/pictures` has this test write them anew."""
    target = pictures_in(tmp_path)
    real.deploy("visits-by-country", query=QUERY.format(folder=folder / "visits"), stop="immediate")
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"n": 1}\n{"n": "none"}\n')
    real.deploy("lines", query=BROKEN.format(file=lines))
    real.until("lines", within=LONG, state="Failed")
    furnish(real)
    visit = Visit(chromium, real, viewport=SIZE)
    visit.page.goto(real.client.url)
    expect(visit.page.get_by_label("Token")).to_be_visible()
    visit.page.screenshot(path=target / "login.png", clip={"x": 0, "y": 0, **SIZE, "height": LISTS["login"]})
    page = visit.enter()
    for place, seen, picture in (
        ("#/", ".jobs tbody tr", "jobs"),
        ("#/pipelines/sales", ".chart canvas", "pipeline"),
        ("#/pipelines/lines", "[role=alert]", "failed"),
        ("#/pipelines/sales/history", ".mark.savepoint", "history"),
        ("#/pipelines/sales/output", ".list td", "output"),
        ("#/pipelines/sales/events", ".events li", "events"),
        ("#/pipelines/sales/logs", ".line", "logs"),
        ("#/pipelines/sales/query", ".sql", "query"),
        ("#/connections", "section[aria-label=Tables] li", "connections"),
        ("#/settings", "section[aria-label=Storage] td", "settings"),
        ("#/editor/sales", ".node", "editor"),
    ):
        visit.go(place)
        page.wait_for_selector(seen, state="attached")
        if picture == "settings":
            page.get_by_text(str(real.data_dir)).evaluate("shown => shown.textContent = '/var/lib/arroyo'")
        page.screenshot(
            path=target / f"{picture}.png", clip={"x": 0, "y": 0, **SIZE, "height": LISTS.get(picture, SIZE["height"])}
        )
    page.get_by_label("SQL").click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(QUERY.format(folder=folder / "sales").replace("'1 second'", "'5 seconds'"))
    expect(page.get_by_text("No problems.")).to_be_visible()
    page.get_by_role("button", name="Deploy").click()
    page.get_by_role("dialog").get_by_label("Discard the state of tumble-").check()
    expect(page.get_by_role("dialog").locator(".diff ins")).to_have_text("5 seconds")
    expect(page.get_by_label("Accept the loss of state that the plan lists")).to_be_visible()
    page.screenshot(path=target / "upgrade.png")
    visit.expected.add("status of 409")
    visit.close()

    in_docs = {path.name: path.stat().st_size for path in (ROOT / "docs" / "pictures").iterdir()}
    # tests/system/test_page_in_airflow.py, and below
    elsewhere = {"airflow.png", "fork.png", "preview.png", "state.png"}
    assert in_docs.keys() == {path.name for path in target.glob("*.png")} | elsewhere
    assert sum(in_docs.values()) < 1_500_000
    shown = (ROOT / "docs" / "how-to" / "web.md").read_text()
    assert [name for name in in_docs if f"(../pictures/{name})" not in shown] == []


def test_a_pipeline_is_forked_from_a_savepoint_and_writes_elsewhere(
    chromium: Browser, real: Served, folder: Path, tmp_path: Path
) -> None:
    visit = Visit(chromium, real, viewport=SIZE)
    page = visit.enter()
    page.get_by_role("link", name="sales", exact=True).click()
    page.get_by_role("link", name="Fork").click()
    expect(page.get_by_label("Savepoint")).to_contain_text("monday, epoch")
    page.get_by_label("Name").fill("sales-copy")
    page.wait_for_selector(".node")
    page.screenshot(path=pictures_in(tmp_path) / "fork.png")
    page.get_by_role("button", name="Fork").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("pipeline.shared_with_original")
    page.get_by_role("button", name="Cancel").click()
    page.get_by_label("SQL").click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(QUERY.format(folder=folder / "copy"))
    expect(page.get_by_text("No problems.")).to_be_visible()

    confirm(page, "Fork", "A new run starts.")

    expect(page.get_by_role("heading", level=1)).to_have_text("sales-copy")
    real.until("sales-copy", within=LONG, state="Running")
    first: Any = until(lambda: list((folder / "copy").glob("**/*.json")), bool, LONG)
    assert first
    assert real.job("sales")["state"] == "Running"
    visit.expected.add("status of 409")
    visit.close()


def write(page: Page, text: str) -> None:
    """Have a text in the editor in the place of what is there, once nothing is wrong with it."""
    page.get_by_label("SQL").click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(text)
    expect(page.get_by_text("No problems.")).to_be_visible()


def test_a_script_is_previewed_without_writing_until_somebody_stops_it(
    chromium: Browser, real: Served, tmp_path: Path
) -> None:
    visit = Visit(chromium, real, viewport={"width": 1400, "height": 900})
    page = visit.enter()
    visit.go("#/editor")
    write(page, PREVIEWED.format(folder=NOWHERE, script=SCRIPT, hostile=HOSTILE[0]))
    page.get_by_role("button", name="Preview").click()
    preview = page.get_by_role("region", name="Preview")

    expect(preview.get_by_role("tab")).to_have_count(2, timeout=400_000)
    expect(preview.get_by_role("tab", selected=True)).to_contain_text("written")
    expect(preview.locator("tbody tr").first).to_contain_text(HOSTILE[0])
    expect(preview.locator("tbody tr").first).to_contain_text("9007199254740993")
    page.screenshot(path=pictures_in(tmp_path) / "preview.png")
    preview.get_by_role("tab", selected=True).press("ArrowRight")
    expect(preview.get_by_role("tab", selected=True)).to_contain_text("other")
    preview.get_by_role("button", name="Row 3 in full").click()
    expect(preview.get_by_role("group", name="Row 3", exact=True)).to_contain_text("n2")
    preview.get_by_role("button", name="Stop").click()
    expect(preview.get_by_text("The preview has ended. Nothing was written to a sink.")).to_be_visible()
    expect(preview.locator("tbody tr").first).to_be_visible()
    assert not NOWHERE.exists()

    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"n": 1}\n{"n": "none"}\n')
    write(page, BROKEN.format(file=lines))
    preview.get_by_role("button", name="Run again").click()
    expect(preview.get_by_role("alert")).to_contain_text("lines.jsonl", timeout=400_000)
    visit.close()


def fill_in(page: Page, action: str, label: str, text: str) -> Locator:
    """Choose an action and say what it is to be about."""
    page.get_by_role("button", name=action, exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label(label).fill(text)
    return dialog


def commit(dialog: Locator, says: str, button: str) -> None:
    """Read what would happen, and have it done."""
    expect(dialog.locator(".effects")).to_contain_text(says)
    dialog.get_by_role("button", name=button, exact=True).click()
    expect(dialog).to_have_count(0)


def goes_on(served: Served, name: str, **facts: Any) -> None:
    """Wait until a pipeline has committed two epochs more in the state that it is to be in."""
    epoch = served.until(name, within=LONG, state="Running", **facts)["epoch"] or 0
    served.until_epoch(epoch + 2, name, within=LONG)


def windows(folder: Path) -> list[tuple[str, int]]:
    """The windows that were written, and whose rows they count."""
    lines = [line for file in folder.glob("**/*.json") for line in file.read_text().splitlines()]
    return [(row["at"], row["auction"]) for row in map(json.loads, lines)]


def test_each_action_is_done_once_to_a_pipeline_that_computes(chromium: Browser, real: Served, tmp_path: Path) -> None:
    query = QUERY.format(folder=tmp_path / "acted")
    visit = Visit(chromium, real, viewport={"width": 1400, "height": 900})
    page = visit.enter()
    visit.go("#/editor")
    page.get_by_label("Name").fill("acted")
    write(page, query)
    confirm(page, "Deploy", "A new run starts.")
    goes_on(real, "acted")

    commit(fill_in(page, "Savepoint", "Label (optional)", "tuesday"), "Kept", "Take savepoint")
    until(lambda: str(real.client.get("/pipelines/acted/savepoints")), lambda text: "'completed'" in text, LONG)
    commit(fill_in(page, "Rescale", "Parallelism", "2"), "The job will stop.", "Rescale")
    goes_on(real, "acted", tasks=2)

    visit.go("#/editor/acted")
    expect(page.get_by_text("No problems.")).to_be_visible()
    write(page, query.replace("1000000", "2000000"))
    confirm(page, "Deploy", "A new run starts.")
    until(lambda: str(real.client.get("/pipelines/acted")), lambda text: "'version': 2" in text)
    goes_on(real, "acted")
    page.get_by_role("button", name="Roll back", exact=True).click()
    commit(page.get_by_role("dialog"), "Restores version 1.", "Roll back")
    goes_on(real, "acted")
    until(lambda: str(real.client.get("/pipelines/acted")), lambda text: "> 1000000" in text)

    page.get_by_role("button", name="Restore", exact=True).click()
    dialog = page.get_by_role("dialog")
    tuesday = dialog.locator("option", has_text="tuesday").get_attribute("value")
    dialog.get_by_label("Savepoint").select_option(tuesday)
    dialog.get_by_label("Allow output to be written again").check()
    commit(dialog, "A new run starts.", "Restore")
    until(lambda: str(real.client.get("/pipelines/acted/events")), lambda text: "go back to savepoint" in text, LONG)
    goes_on(real, "acted")

    confirm(page, "Stop", "The job will stop.")
    real.until("acted", within=LONG, state="Stopped")
    written = windows(tmp_path / "acted")
    assert written
    assert len(set(written)) == len(written)
    confirm(page, "Start", "A new run starts.")
    goes_on(real, "acted")
    confirm(page, "Stop", "The job will stop.")
    real.until("acted", within=LONG, state="Stopped")
    page.get_by_role("button", name="Delete", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Delete its savepoints too").check()
    commit(dialog, "Lost", "Delete")
    expect(page.get_by_role("heading", name="Jobs")).to_be_visible()
    until(lambda: str(real.client.get("/pipelines")), lambda listed: "'acted'" not in listed, LONG)
    assert set(windows(tmp_path / "acted")) >= set(written)
    visit.close()


def test_state_of_an_operator_is_shown_by_key(chromium: Browser, real: Served, folder: Path, tmp_path: Path) -> None:
    visit = Visit(chromium, real, viewport=SIZE)
    page = visit.enter()
    visit.go("#/pipelines/sales/state")
    page.get_by_role("button", name="Show rows").click()
    rows = page.locator(".rows tbody tr")
    expect(rows.first).to_be_visible(timeout=400_000)
    expect(page.get_by_role("columnheader", name="window.end")).to_be_visible()
    page.screenshot(path=pictures_in(tmp_path) / "state.png")
    visit.close()


def test_rows_that_came_too_late_are_shown_beside_those_in_time(
    chromium: Browser, real: Served, tmp_path: Path
) -> None:
    def order(name: str, times: Iterable[datetime], amount: int) -> None:
        lines = (json.dumps({"at": f"{at:%Y-%m-%dT%H:%M:%S}", "amount": amount}) for at in times)
        (tmp_path / name).write_text("\n".join(lines))
        (tmp_path / name).rename(tmp_path / "orders" / f"{name}.json")

    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    (tmp_path / "orders").mkdir()
    order("in-time", (noon + timedelta(seconds=second) for second in range(10_000)), 1)
    real.deploy("late", query=LATE.format(folder=tmp_path))
    visit = Visit(chromium, real, viewport=SIZE)
    page = visit.enter()
    visit.go("#/pipelines/late/output")
    page.get_by_label("Table").select_option("sums")
    rows = page.locator(".rows tbody tr")
    expect(rows.first).to_be_visible(timeout=400_000)

    order("too-late", [noon, noon + timedelta(seconds=30)], 77)

    page.get_by_label("Table").select_option("late_orders: late rows")
    expect(rows).to_have_count(2, timeout=400_000)
    shown = sorted(cells.split("\t")[1:] for cells in rows.all_inner_texts())
    assert shown == [["2026-01-01T12:00:00+00:00", "77"], ["2026-01-01T12:00:30+00:00", "77"]]
    visit.close()
