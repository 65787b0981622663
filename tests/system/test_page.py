"""The page in the Chromium of the operating system, before a real control plane. In each test nothing may be wrong in
the browser's console, and no request may go elsewhere."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from engine.checkpoints.layout import StatePaths, write_json
from engine.checkpoints.lineage import Lineage, write_lineage
from engine.compile import compile_script
from tests.system.conftest import Served, until

NAMES = ("chromium", "chromium-browser", "google-chrome")
HOSTILE = (
    "<img src=x onerror=window.broken=1>",
    "\"'><svg onload=window.broken=2>",
    "\u202ebackwards\u2066",
    "{{7*7}}${7*7}&lt;b&gt;",
    "l" + "o" * 254 + "g",
)
SCRIPT = "</script><script>window.broken=3</script>"
COUNTS = """CREATE TABLE bids WITH (connector = 'nexmark', event_rate = '10');
CREATE TABLE out (at TIMESTAMP, auction BIGINT, bids BIGINT) WITH (connector = 'blackhole', type = 'sink');
INSERT INTO out SELECT w.end, auction, bids FROM (
  SELECT tumble(INTERVAL '1 minute') AS w, bid.auction AS auction, count(*) AS bids
  FROM bids WHERE bid IS NOT NULL GROUP BY 1, 2);
"""

LETTERS = """CREATE TABLE orders (id BIGINT NOT NULL) WITH (
  connector = 'filesystem', type = 'source', path = '{folder}/in', format = 'json',
  bad_data = 'dead_letter', 'dead_letter.table' = 'rejected');
CREATE TABLE rejected (source TEXT, error TEXT, record TEXT)
WITH (connector = 'filesystem', type = 'sink', path = '{folder}/rejected', format = 'json');
CREATE TABLE good WITH (connector = 'filesystem', type = 'sink', path = '{folder}/good', format = 'parquet');
INSERT INTO good SELECT id FROM orders;
"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The browser; whoever has none skips this, but not where every change is checked."""
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        assert not os.environ.get("CI"), "Chromium is missing: nobody knows whether the page works"
        pytest.skip("there is no Chromium here")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


class Visit:
    """A page that somebody has open, and what went wrong there."""

    def __init__(self, browser: Browser, served: Served, **look: Any) -> None:
        self.served = served
        self.page: Page = browser.new_context(**look).new_page()
        self.page.set_default_timeout(60_000)
        expect.set_options(timeout=60_000)
        self.wrong: list[str] = []
        self.expected: set[str] = set()
        """Parts of what the browser notes of answers that a test brings about. When it notes them is its own affair."""
        self.page.on("console", lambda message: self._note(message.type, message.text, message.location["url"]))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda request: self._check(request.url))
        self.page.on("dialog", lambda dialog: self.wrong.append(dialog.message))

    def enter(self) -> Page:
        """Be let in by a one-time link."""
        link: Any = self.served.client.send("POST", "/session/link", None)
        self.page.goto(self.served.client.url + link["path"])
        expect(self.page.get_by_role("heading", name="Jobs")).to_be_visible()
        return self.page

    def go(self, place: str) -> None:
        """Go to another part of the page."""
        self.page.evaluate("place => { location.hash = place; }", place)

    def close(self) -> None:
        broken = self.page.evaluate("window.broken")
        self.page.context.close()
        assert ([text for text in self.wrong if not any(part in text for part in self.expected)], broken) == ([], None)

    def _note(self, kind: str, text: str, url: str) -> None:
        """What the console says; drivers that only count have no state that could be looked into."""
        if kind in {"error", "warning"} and not url.endswith("/state"):
            self.wrong.append(text)

    def _check(self, url: str) -> None:
        if not url.startswith((self.served.client.url + "/", "data:")):
            self.wrong.append(f"asked {url}")


@pytest.fixture
def visit(chromium: Browser, shared: Served) -> Iterator[Visit]:
    open_page = Visit(chromium, shared, viewport={"width": 1400, "height": 900})
    yield open_page
    open_page.close()


def row(page: Page, name: str) -> Any:
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


def confirm(page: Page, action: str, says: str, button: str | None = None) -> None:
    """Choose an action, read what it would do, and do it."""
    page.get_by_role("button", name=action, exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".effects")).to_contain_text(says)
    dialog.get_by_role("button", name=button or action, exact=True).click()
    expect(dialog).to_have_count(0)


def test_a_token_lets_in_and_what_happens_is_seen_at_once(visit: Visit, shared: Served) -> None:
    page = visit.page
    page.goto(shared.client.url)
    page.get_by_label("Token").fill("wrong")
    with page.expect_response(lambda answer: answer.status == 401):
        page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_contain_text("auth.denied")
    visit.expected.add("status of 401")
    page.get_by_label("Token").fill(shared.client.token)
    page.get_by_label("Token").press("Enter")

    expect(page.get_by_role("heading", name="Jobs")).to_be_visible()
    shared.deploy("seen-at-once")
    expect(row(page, "seen-at-once").get_by_text("Running")).to_be_visible()

    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_label("Token")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Token")).to_be_visible()


def asked_within(page: Page, milliseconds: int) -> list[str]:
    """What a page asks for in a stretch of time, which passes at once, and is answered."""
    asked: list[Any] = []

    def note(request: Any) -> None:
        asked.append(request)

    page.on("request", note)
    page.clock.fast_forward(milliseconds)
    page.evaluate("fetch('api/v1/ping')")  # comes behind what is asked for
    page.remove_listener("request", note)
    for request in asked:
        request.response()
    return [request.url for request in asked if not request.url.endswith("/ping")]


def test_a_page_is_told_of_changes_and_asks_for_nothing_in_between(visit: Visit, shared: Served) -> None:
    shared.deploy("told-of", stop="immediate")
    shared.until("told-of", state="Stopped")
    visit.page.clock.install()
    page = visit.enter()
    visit.go("#/pipelines/told-of")
    expect(page.get_by_role("heading", level=1)).to_have_text("told-of")

    # two things are asked for every 15 s each in any case, so one of four such stretches in a row is without either
    until(lambda: asked_within(page, 4_000), lambda asked: asked == [], within=30)
    shared.patch("told-of", stop="none")

    expect(page.get_by_text("Running")).to_be_visible()


def test_a_page_without_the_stream_asks_by_itself_and_one_whose_session_is_left_elsewhere_closes(
    visit: Visit, shared: Served
) -> None:
    page = visit.page
    page.route("**/changes/stream*", lambda route: route.abort())
    visit.enter()
    shared.deploy("asked-for")
    expect(row(page, "asked-for").get_by_text("Running")).to_be_visible()
    page.unroute("**/changes/stream*")
    with page.expect_response("**/changes/stream*"):
        page.reload()
    expect(row(page, "asked-for")).to_be_visible()
    second = page.context.new_page()
    second.goto(shared.client.url)
    second.get_by_role("button", name="Log out").click()

    expect(page.get_by_label("Token")).to_be_visible(timeout=8_000)
    visit.expected |= {"ERR_FAILED", "status of 401"}


def test_the_list_is_searched_and_walked_through_with_keys_alone(visit: Visit, shared: Served) -> None:
    for name in ("keys-1", "keys-2", "keys-3"):
        shared.deploy(name, stop="immediate")
    page = visit.enter()
    expect(row(page, "keys-3")).to_be_visible()

    page.keyboard.press("/")
    page.keyboard.type("keys stopped")
    expect(page.get_by_role("row").filter(has_text="keys-")).to_have_count(3)
    page.get_by_role("link", name="keys-1", exact=True).focus()
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("link", name="keys-3", exact=True)).to_be_focused()
    page.keyboard.press("k")
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", level=1)).to_have_text("keys-2")


def test_each_action_says_what_it_does_before_it_is_done(visit: Visit, shared: Served) -> None:
    shared.deploy("acted-on")
    shared.until_epoch(3, "acted-on")
    page = visit.enter()
    page.get_by_role("link", name="acted-on", exact=True).click()
    expect(page.get_by_label("Plan, from the sources to the sinks").get_by_text("Source")).to_be_visible()

    confirm(page, "Stop", "The job will stop.")
    shared.until("acted-on", state="Stopped")
    confirm(page, "Start", "A new run starts.")
    shared.until("acted-on", state="Running")
    page.get_by_role("button", name="Rescale").click()
    page.get_by_label("Parallelism", exact=True).fill("2")
    page.get_by_role("button", name="Cancel").click()
    assert shared.job("acted-on")["tasks"] == 1
    page.get_by_role("button", name="Rescale").click()
    page.get_by_label("Parallelism", exact=True).fill("2")
    expect(page.get_by_role("dialog").locator(".effects")).to_contain_text("The job will stop.")
    page.get_by_role("dialog").get_by_role("button", name="Rescale").click()
    shared.until("acted-on", tasks=2, state="Running")
    confirm(page, "Stop", "The job will stop.")
    shared.until("acted-on", state="Stopped")
    confirm(page, "Delete", "Lost")

    visit.expected.add("status of 404")  # a request for the pipeline may have been under way
    expect(page.get_by_role("heading", name="Jobs")).to_be_visible()
    until(lambda: str(shared.client.get("/pipelines")), lambda listed: "acted-on" not in listed)


def keep_as_state_of(served: Served, name: str, query: str) -> None:
    """Have what the drivers count in be the state of a query, as far as an upgrade looks at it."""
    pipeline: Any = served.client.get(f"/pipelines/{name}")
    paths = StatePaths(Path(pipeline["state_dir"]))
    fingerprint = compile_script(query).fingerprint
    write_json(paths.pipeline, {"name": name, "sql": query, "fingerprint": fingerprint, "parallelism": 1})
    write_lineage(paths.lineage, Lineage("a"))


def test_an_upgrade_is_seen_beside_what_runs_and_done_once_what_it_loses_is_accepted(
    visit: Visit, shared: Served
) -> None:
    shared.deploy("sales", query=COUNTS)
    shared.until_epoch(1, "sales")
    keep_as_state_of(shared, "sales", COUNTS)
    page = visit.enter()
    visit.go("#/editor/sales")
    expect(page.get_by_text("No problems.")).to_be_visible()
    page.get_by_label("SQL").click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(COUNTS.replace("'1 minute'", "'5 minutes'"))
    expect(page.get_by_text("No problems.")).to_be_visible()
    page.get_by_role("button", name="Deploy").click()

    dialog = page.get_by_role("dialog")
    deploy = dialog.get_by_role("button", name="Deploy")
    expect(dialog.locator(".diff del")).to_have_text("1 minute")
    expect(dialog.locator(".diff ins")).to_have_text("5 minutes")
    expect(dialog.get_by_role("row").filter(has_text="Refused")).to_contain_text("tumble-")
    expect(dialog.get_by_role("alert")).to_contain_text("pipeline.incompatible")
    dialog.get_by_label("Discard the state of tumble-").check()
    expect(dialog.get_by_role("row").filter(has_text="State discarded: lost")).to_be_visible()
    expect(dialog.get_by_role("alert")).to_contain_text("State would be lost")
    expect(deploy).to_be_disabled()
    dialog.get_by_label("Accept the loss of state that the plan lists").check()
    expect(dialog.locator(".effects")).to_contain_text("A new run starts.")
    deploy.click()

    expect(page.get_by_role("heading", level=1)).to_have_text("sales")
    visit.expected.add("status of 409")
    until(
        lambda: str(shared.client.get("/pipelines/sales")),
        lambda text: "'5 minutes'" in text and "'version': 2" in text,
    )


def test_forbidden_action_is_refused_before_confirmation(visit: Visit, shared: Served) -> None:
    shared.deploy("runs-on")
    shared.until("runs-on", state="Running")
    page = visit.enter()
    page.get_by_role("link", name="runs-on", exact=True).click()
    page.get_by_role("button", name="Delete").click()

    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("pipeline.busy")
    expect(page.get_by_role("dialog").get_by_role("button", name="Delete")).to_be_disabled()
    visit.expected.add("status of 409")


def test_why_a_job_has_failed_is_on_its_page(visit: Visit, shared: Served) -> None:
    shared.deploy("broken", says="-- fail: sql.broken")
    shared.until("broken", state="Failed")
    page = visit.enter()
    expect(row(page, "broken")).to_contain_text("sql.broken")
    page.get_by_role("link", name="broken", exact=True).click()

    expect(page.get_by_role("alert")).to_contain_text("it was told to fail")
    expect(page.get_by_role("alert")).to_contain_text("tell it not to")


def test_hostile_texts_are_shown_as_text(visit: Visit, shared: Served) -> None:
    from urllib.parse import quote

    for name in HOSTILE:
        shared.deploy(quote(name, safe=""), says=f"-- {SCRIPT}", stop="immediate")
    page = visit.enter()
    page.get_by_label("Search pipelines").fill("stopped")
    for name in HOSTILE:
        page.get_by_role("link", name=name, exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text(name)
        page.get_by_role("link", name="Query", exact=True).click()
        expect(page.locator(".sql")).to_contain_text(SCRIPT)
        page.get_by_role("link", name="Edit", exact=True).click()
        expect(page.get_by_label("Name")).to_have_value(name)
        expect(page.locator(".cm-content")).to_contain_text(SCRIPT)
        page.get_by_role("link", name="Jobs", exact=True).click()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_an_example_is_tried_complained_about_and_deployed(visit: Visit, shared: Served) -> None:
    page = visit.enter()
    page.get_by_role("link", name="Editor", exact=True).click()
    page.get_by_label("Example").select_option("orders-per-minute")
    expect(page.get_by_text("No problems.")).to_be_visible()
    page.get_by_label("SQL").click()
    page.keyboard.press("Control+End")
    page.keyboard.type("SELECT nothing FROM nowhere;")  # quicker than the page draws
    expect(page.locator(".complaints")).to_contain_text("there is no table 'nowhere'")
    expect(page.get_by_role("button", name="Deploy")).to_be_disabled()
    assert "SELECT nothing FROM nowhere;" in page.locator(".cm-content").inner_text()
    page.get_by_label("Example").select_option("orders-per-minute")
    expect(page.get_by_text("No problems.")).to_be_visible()
    expect(page.get_by_label("Plan, from the sources to the sinks").get_by_text("Sink")).to_be_visible()

    confirm(page, "Deploy", "A new run starts.")

    expect(page.get_by_role("heading", level=1)).to_have_text("orders-per-minute")
    shared.until("orders-per-minute", state="Running")


def test_run_settings_are_checked_deployed_and_shown(visit: Visit, shared: Served) -> None:
    page = visit.enter()
    page.get_by_role("link", name="Editor", exact=True).click()
    page.get_by_label("Example").select_option("orders-per-minute")
    page.get_by_label("Name").fill("with-settings")
    page.get_by_text("Run settings", exact=True).click()
    page.get_by_label("memory", exact=True).fill("1g")
    page.get_by_label("fuse", exact=True).select_option("off")
    page.get_by_label("Settings of Spark").fill("spark.network.timeout=240s")

    page.get_by_role("button", name="Deploy").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("alert")).to_contain_text("set master to spark://HOST:PORT")
    dialog.get_by_role("button", name="Cancel").click()
    page.get_by_label("Settings of Spark").fill("")
    confirm(page, "Deploy", "A new run starts.")

    expect(page.get_by_role("heading", level=1)).to_have_text("with-settings")
    page.get_by_role("link", name="Query", exact=True).click()
    expect(page.get_by_text("1g", exact=True)).to_be_visible()
    found: Any = shared.client.get("/pipelines/with-settings")
    assert found["settings"] == {"memory": "1g", "fuse": "off"}

    page.get_by_role("link", name="Edit", exact=True).click()
    expect(page.get_by_text("Run settings (2 set)")).to_be_visible()
    visit.expected.add("status of 400")


def test_completions_are_offered_in_the_editor(visit: Visit, shared: Served) -> None:
    page = visit.enter()
    with page.expect_response("**/completions"):
        page.get_by_role("link", name="Editor", exact=True).click()
    text, offered = page.locator(".cm-content"), page.locator(".cm-tooltip-autocomplete")
    page.get_by_label("SQL").click()
    page.keyboard.type("CREATE TABLE bids WITH (connector = 'nexm")
    offered.get_by_role("option", name="nexmark").click()
    page.keyboard.type("', event_r")
    offered.get_by_role("option", name="event_rate").click()
    page.keyboard.type("5'); SELECT row_num")
    expect(offered.get_by_role("option", name="row_number() OVER")).to_be_visible()
    page.keyboard.press("Escape")

    expect(text).to_contain_text("WITH (connector = 'nexmark', event_rate = '5'); SELECT row_num")


def test_a_table_is_tried_kept_used_and_deleted(visit: Visit, shared: Served, tmp_path: Path) -> None:
    lines = tmp_path / "in.jsonl"
    lines.write_text('{"n": 1}\n')
    page = visit.enter()
    visit.go("#/connections")
    page.get_by_role("button", name="New table").click()
    page.get_by_label("Name (required)").fill("kept_lines")
    page.get_by_label("Connector").select_option("single_file")
    page.get_by_label("path (required)").fill(str(lines))
    page.get_by_label("type (required)").select_option("source")
    page.get_by_label("Format").select_option("json")
    page.get_by_role("button", name="Detect columns").click()
    expect(page.get_by_text("1 column, from 1 record")).to_be_visible(timeout=60_000)
    expect(page.get_by_label("Columns", exact=True)).to_have_value('"n" BIGINT')

    page.get_by_role("button", name="Test", exact=True).click()
    expect(page.get_by_text("it can be read, and has 1 partition")).to_be_visible(timeout=30_000)
    page.get_by_role("button", name="Save table").click()
    expect(page.get_by_text("source of single_file")).to_be_visible()

    verdict = shared.client.send("POST", "/pipelines/validate_query", {"query": "SELECT n FROM kept_lines"})
    assert isinstance(verdict, dict)
    assert verdict["errors"] == []
    page.get_by_role("button", name="Delete kept_lines").click()
    page.get_by_role("button", name="Delete kept_lines for good").click()
    expect(page.get_by_text("No tables yet.")).to_be_visible()


def test_a_function_is_looked_at_while_it_is_typed_and_kept(visit: Visit, shared: Served) -> None:
    page = visit.enter()
    visit.go("#/connections")
    page.get_by_role("button", name="New function").click()
    form = page.get_by_role("form", name="New function")
    expect(form.get_by_text("No problems in shout.")).to_be_visible()
    form.get_by_label("Python").fill(
        f"# {SCRIPT}\nfrom engine.udf import udf\n\n@udf\ndef loud(text):\n    return text\n"
    )
    expect(form.get_by_role("listitem").first).to_contain_text("no type hint")
    expect(form.get_by_role("button", name="Save function")).to_be_disabled()
    form.get_by_label("Python").fill(
        "from engine.udf import udf\n\n@udf\ndef loud(text: str) -> str:\n    return text\n"
    )
    form.get_by_label("Description").fill(HOSTILE[0])
    form.get_by_role("button", name="Save function").click()

    expect(page.get_by_role("region", name="Functions")).to_contain_text(HOSTILE[0])
    query = "CREATE TABLE n WITH (connector = 'impulse', event_rate = 5); SELECT loud('a') FROM n"
    verdict: Any = shared.client.send("POST", "/pipelines/validate_query", {"query": query})
    assert verdict["errors"] == []
    page.get_by_role("button", name="Delete loud", exact=True).click()
    page.get_by_role("button", name="Delete loud for good").click()
    expect(page.get_by_text("No functions yet.")).to_be_visible()


def test_dead_letters_are_seen_with_what_is_wrong_and_read_again(visit: Visit, shared: Served, tmp_path: Path) -> None:
    shared.deploy("with-letters", query=LETTERS.format(folder=tmp_path))
    rejected = tmp_path / "rejected"
    rejected.mkdir()
    letters = [{"source": "orders", "error": text, "record": f"{{{text}"} for text in HOSTILE]
    (rejected / "a.json").write_text("".join(json.dumps(letter) + "\n" for letter in letters))
    page = visit.enter()
    visit.go("#/pipelines/with-letters/output")
    page.get_by_label("Table").select_option("rejected")
    expect(page.get_by_label("Table")).to_contain_text("rejected: dead letters of orders")
    for text in HOSTILE[:-1]:
        expect(page.get_by_role("cell", name=text, exact=True)).to_be_visible()
    page.get_by_role("button", name=f"Row {len(HOSTILE)} in full").click()
    expect(page.locator(".whole-row").get_by_text(HOSTILE[-1], exact=True)).to_be_visible()
    page.get_by_role("button", name="Use these rows in a new query").click()

    expect(page.locator(".cm-content")).to_contain_text("TRY_CAST")
    expect(page.get_by_text("No problems.")).to_be_visible()
    expect(page.get_by_role("button", name="Preview")).to_be_enabled()
