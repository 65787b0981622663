"""Everybody can use every page: who sees little, who has a narrow screen, and who has no mouse. One browser, and one
control plane whose drivers count."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.system.conftest import ROOT, Served, until
from tests.system.test_page import Visit, chromium

__all__ = ["chromium"]

AXE = ROOT / "engine" / "web" / "node_modules" / "axe-core" / "axe.min.js"
WIDTHS = (1400, 800, 380)
NAME = "for-everybody"

Prepare = Callable[[Page], None]


def press(name: str, then: str) -> Prepare:
    """Have a button pressed and something shown."""

    def prepare(page: Page) -> None:
        page.get_by_role("button", name=name, exact=True).first.click()
        expect(page.locator(then).first).to_be_visible()

    return prepare


def rescale(page: Page) -> None:
    """Open the dialog of another parallelism, and enter one: the same one has no effects to show."""
    press("Rescale", "dialog .effects .hint")(page)
    page.get_by_role("dialog").get_by_label("Parallelism").fill("2")
    expect(page.locator("dialog .effects dl")).to_be_visible()


def save_all(page: Page) -> None:
    """Open the dialog of an action on all pipelines that are shown."""
    page.get_by_label("Bulk action on the pipelines shown").select_option("savepoint")
    expect(page.get_by_role("dialog").locator(".buttons")).to_be_visible()


def nothing(page: Page) -> None:
    """The page as it is."""


PAGES: tuple[tuple[str, str, Prepare], ...] = (
    ("#/", ".jobs tbody tr", nothing),
    ("#/", ".jobs tbody tr", save_all),
    (f"#/pipelines/{NAME}", ".chart canvas", nothing),
    (f"#/pipelines/{NAME}", ".chart canvas", rescale),
    (f"#/pipelines/{NAME}", ".chart canvas", press("Edit tags", "dialog .effects dl")),
    (f"#/pipelines/{NAME}/output", "h2", nothing),
    (f"#/pipelines/{NAME}/state", "h2", nothing),
    (f"#/pipelines/{NAME}/history", ".moments li", nothing),
    (f"#/pipelines/{NAME}/events", ".events li", nothing),
    (f"#/pipelines/{NAME}/logs", ".log", nothing),
    (f"#/pipelines/{NAME}/query", ".sql", nothing),
    ("#/pipelines/broken", ".problem", nothing),
    ("#/pipelines/nobody", ".problem", nothing),
    ("#/editor", ".sql-editor", nothing),
    ("#/examples/sellers", ".node", nothing),
    (f"#/editor/{NAME}", ".node", nothing),
    (f"#/editor/{NAME}", ".node", press("Preview", ".preview .tabs")),
    (f"#/editor/{NAME}/fork", "h1", nothing),
    ("#/connections", "section[aria-label=Tables] li", nothing),
    ("#/connections", "section[aria-label=Tables] li", press("New connection", "form.connection")),
    ("#/connections", "section[aria-label=Tables] li", press("New table", "form.connection")),
    ("#/connections", "section[aria-label=Tables] li", press("New function", "form.connection .good")),
    ("#/settings", "section[aria-label=Storage] td", nothing),
    ("#/settings", "section[aria-label=Schedules] li", press(f"Edit the schedule of {NAME}", "dialog input")),
)
IDS = [f"{place}{'' if prepare is nothing else ' with a form'}" for place, _, prepare in PAGES]


@pytest.fixture(scope="module")
def furnished(shared: Served) -> Served:
    """A control plane that has something to show on every page."""
    shared.deploy(NAME)
    shared.deploy("broken", says="-- fail: sql.broken")
    send = shared.client.send
    send("PUT", f"/pipelines/{NAME}/savepoint-schedule", {"cron": "0 3 * * *", "retention": {"keep_last": 3}})
    send("POST", "/tokens", {"name": "ann"})
    profile: Any = send(
        "POST", "/connection_profiles", {"name": "broker", "connector": "kafka", "config": {"bootstrap_servers": "x:1"}}
    )
    assert profile["name"] == "broker"
    table = {"name": "events", "connector": "impulse", "config": {"event_rate": "10"}}
    send("POST", "/connection_tables", table)
    shared.until("broken", state="Failed")
    shared.until_epoch(2, NAME)
    return shared


@pytest.fixture
def visit(chromium: Browser, furnished: Served) -> Iterator[Visit]:
    opened = Visit(chromium, furnished, viewport={"width": 1400, "height": 900}, reduced_motion="reduce")
    opened.expected |= {"status of 404", "status of 409"}  # what is not there, and what is refused
    yield opened
    opened.close()


def look_through(page: Page, where: str) -> list[tuple[object, ...]]:
    """What is wrong with what is shown, at each width, light and dark."""
    found: list[tuple[object, ...]] = []
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        if page.evaluate("document.documentElement.scrollWidth") > width:
            found.append((where, width, "is wider than the screen"))
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            # the scheme changes colours and nothing else
            rules = "{}" if scheme == "light" else "{runOnly: ['color-contrast']}"
            for fault in page.evaluate(f"axe.run({rules})")["violations"]:
                if fault["impact"] in {"serious", "critical"}:
                    nodes = [(node["target"], node["failureSummary"]) for node in fault["nodes"]][:2]
                    found.append((where, width, scheme, fault["id"], nodes))
    return found


def test_every_page_has_no_serious_accessibility_violation_in_each_width_and_theme(visit: Visit) -> None:
    subprocess.run([sys.executable, "-c", "import web; web.install()"], cwd=ROOT / ".ci", check=True)
    page = visit.page
    page.goto(visit.served.client.url)
    page.wait_for_selector("#token")
    found = look_through(page, "login")
    page.set_viewport_size({"width": 1400, "height": 900})
    visit.enter()
    for (place, seen, prepare), where in zip(PAGES, IDS, strict=True):
        show(visit, place, seen, prepare)
        found += look_through(page, where)
    assert found == []


def show(visit: Visit, place: str, seen: str, prepare: Prepare) -> None:
    """Go to a page as if one came from elsewhere."""
    page = visit.page
    page.set_viewport_size({"width": 1400, "height": 900})
    if page.locator("dialog[open]").count():
        page.keyboard.press("Escape")
    visit.go("#/")
    page.wait_for_selector(".jobs")
    visit.go(place)
    page.wait_for_selector(seen, state="attached")
    prepare(page)


MARK = """() => {
  const inside = document.querySelector("dialog[open]") ?? document;
  const all = inside.querySelectorAll(
    "button:not(:disabled), a[href], input:not(:disabled), select, textarea, summary, [tabindex='0']"
  );
  const reachable = [...all].filter((each) => each.tabIndex >= 0 && each.checkVisibility());
  for (const old of document.querySelectorAll("[data-stop]")) old.removeAttribute("data-stop");
  reachable.forEach((each, at) => each.setAttribute("data-stop", at));
  (inside === document ? document.body : inside).focus();
  return reachable.map((each) => each.ariaLabel || each.textContent.trim().slice(0, 30) || each.tagName);
}"""
STAND = """() => {
  const at = document.activeElement;
  if (at === null || at === document.body) return null;
  const style = getComputedStyle(at);
  const isSeen = at.shadowRoot !== null || style.outlineStyle !== "none";
  return {stop: at.dataset.stop ?? null, isSeen, what: at.outerHTML.slice(0, 90)};
}"""


def test_every_action_of_every_page_is_reached_by_the_tabulator_and_seen_to_be(visit: Visit) -> None:
    page, missed, unseen = visit.enter(), [], set()
    for (place, seen, prepare), where in zip(PAGES, IDS, strict=True):
        show(visit, place, seen, prepare)
        names = page.evaluate(MARK)
        stops = set()
        for _ in range(len(names) + 8):
            page.keyboard.press("Tab")
            stand: Any = page.evaluate(STAND)
            if stand is None:
                continue
            stops.add(stand["stop"])
            if not stand["isSeen"]:
                unseen.add((where, stand["what"]))
        # what is drawn anew meanwhile is another element, and is reached all the same
        missed += [(where, name) for at, name in enumerate(names) if str(at) not in stops]
    assert (missed, unseen) == ([], set())


def test_a_schedule_is_made_paused_edited_and_removed_with_keys_alone(visit: Visit, furnished: Served) -> None:
    furnished.deploy("saved-at-night", stop="immediate")
    page = visit.enter()
    visit.go("#/settings")
    section = page.get_by_label("Schedules", exact=True)
    opener = section.get_by_role("button", name="New schedule")
    expect(opener).to_be_enabled()
    opener.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    for _ in range(12):  # it stays in the dialog, but for what is the browser's own
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement === document.body || !!document.activeElement.closest('dialog')")
    page.keyboard.press("Escape")
    expect(opener).to_be_focused()
    page.keyboard.press("Enter")
    dialog.get_by_label("Pipeline").select_option("saved-at-night")
    dialog.get_by_label("When (cron)").fill("61 * * * *")
    dialog.get_by_label("When (cron)").press("Enter")
    expect(dialog.get_by_role("alert")).to_contain_text("61")
    dialog.get_by_label("When (cron)").fill("30 2 * * *")
    dialog.get_by_label("Savepoints to keep").fill("3")
    dialog.get_by_label("Savepoints to keep").press("Enter")
    row = section.get_by_role("listitem").filter(has_text="saved-at-night")
    expect(row).to_contain_text("30 2 * * * in UTC")
    expect(row).to_contain_text("kept: the last 3")

    row.get_by_role("button", name="Pause").focus()
    page.keyboard.press("Enter")
    expect(row).to_contain_text("Paused")
    expect(row.get_by_role("button", name="Resume")).to_be_focused()
    row.get_by_role("button", name="Remove").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(section.get_by_role("listitem")).to_have_count(1)
    until(lambda: page.evaluate("document.activeElement.closest('section')?.ariaLabel"), lambda at: at == "Schedules")
    schedule: Any = furnished.client.get("/pipelines/saved-at-night/savepoint-schedule")
    assert (schedule["cron"], schedule["retention"]["keep_last"]) == (None, 3)
    visit.expected |= {"status of 400", "status of 422"}


def test_focus_moves_to_start_after_a_stop_by_keyboard(visit: Visit, furnished: Served) -> None:
    furnished.deploy("stopped-by-keys")
    furnished.until_epoch(1, "stopped-by-keys")
    page = visit.enter()
    visit.go("#/pipelines/stopped-by-keys")
    page.get_by_role("button", name="Stop", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").locator("dl")).to_be_visible()
    page.get_by_role("dialog").get_by_role("button", name="Stop", exact=True).focus()
    page.keyboard.press("Enter")
    furnished.until("stopped-by-keys", state="Stopped")
    expect(page.get_by_role("button", name="Start", exact=True)).to_be_visible()

    until(lambda: page.evaluate("document.activeElement.closest('.buttons') !== null"), bool)
