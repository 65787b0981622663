// @vitest-environment happy-dom
import { type ComponentChild, render } from "preact";
import { afterEach, expect, test, vi } from "vitest";
import type { ListedSchedule, Session, Storage } from "../src/api/types";
import { Settings } from "../src/pages/settings";
import { keepFocus } from "../src/parts/focus";
import { SureButton } from "../src/parts/sure-button";
import { SessionContext } from "../src/session";
import { ScheduleDialog } from "../src/settings/schedule-dialog";
import { bodyOf, keepsAll, keptWords, lastWords, pausedBody, scheduleWords, textsOf } from "../src/settings/rules";

const SCHEDULE = { pipeline_id: "pl_1", pipeline: "orders", cron: "0 3 * * *", time_zone: "UTC", blackout: ["sat,sun 00:00-24:00"], drill: true, paused: false, next_at: 1_767_236_400_000_000, last: null, retention: { keep_last: 3, daily: 7, time_zone: "UTC" } } as ListedSchedule;
const STORAGE: Storage = {
  data_dir: "/data",
  free_bytes: 2 ** 30,
  pipelines: [{ pipeline_id: "pl_1", pipeline: "orders", state_bytes: 2048, savepoint_bytes: 10, savepoints: 2, log_bytes: 5, retention: { keep_last: 3 } as Storage["pipelines"][0]["retention"] }],
  others: [{ kind: "records", bytes: 4096 }],
  leaks: [
    { kind: "scratch", path: "/data/1", count: 1, bytes: 1024, reason: "process 1 is no more" },
    { kind: "scratch", path: "/data/2", count: 1, bytes: 1024, reason: "process 2 is no more" },
  ],
};
const SESSION: Session = { who: "admin", version: "1.2.3", through: null, may_change: true };

const place = document.body.appendChild(document.createElement("div"));
afterEach(() => {
  render(null, place);
  vi.unstubAllGlobals();
});

/** What holds in the end. */
const holds = (check: () => void) => vi.waitFor(check, { timeout: 4_000, interval: 5 });
const button = (name: string) => [...place.querySelectorAll("button")].find((each) => (each.getAttribute("aria-label") ?? each.textContent) === name);

/** Everything that was sent, as a method, a path and a body. */
function listening(): [string, string, unknown][] {
  const sent: [string, string, unknown][] = [];
  vi.stubGlobal("fetch", async (path: string, { method, body }: RequestInit) => {
    sent.push([method!, path.replace("api/v1", ""), body ? JSON.parse(String(body)) : null]);
    if (path.endsWith("/storage")) return Response.json(STORAGE);
    if (path.endsWith("/savepoint-schedules")) return Response.json({ data: [SCHEDULE] });
    return Response.json({ data: [], dry_run: false, leaks: [], bytes: 2048 });
  });
  return sent;
}

async function shown(child: ComponentChild): Promise<string> {
  render(null, place);
  render(child, place);
  await holds(() => expect(place.querySelector("[aria-busy=true]")).toBe(null));
  return place.textContent!;
}

async function press(name: string): Promise<void> {
  await holds(() => expect(button(name)).toBeDefined());
  button(name)!.click();
}

const settings = (session: Session) => (
  <SessionContext.Provider value={session}>
    <Settings session={session} />
  </SessionContext.Provider>
);

test("the settings show when savepoints are taken, what takes the room, and what may go", async () => {
  listening();

  const text = await shown(settings(SESSION));

  expect(text).toContain("0 3 * * * in UTC, not in sat,sun 00:00-24:00, each tested by a restore");
  expect(text).toContain("Next 2026-01-01 03:00:00");
  expect(text).toContain("kept: the last 3, one per day for 7 days");
  expect(text).toMatch(/Free space1\.0 GiB.*Records4\.0 KiB/);
  expect(text).toContain("Scratch 2, 2.0 KiB");
});

test("a schedule is paused as it is, and its rules stay", async () => {
  const sent = listening();
  await shown(settings(SESSION));

  await press("Pause the schedule of orders");
  await holds(() => expect(sent.map(([method]) => method)).toContain("PUT"));

  const [method, path, body] = sent.find(([method]) => method === "PUT")!;
  expect([method, path]).toEqual(["PUT", "/pipelines/pl_1/savepoint-schedule"]);
  expect(body).toEqual({ cron: "0 3 * * *", time_zone: "UTC", blackout: ["sat,sun 00:00-24:00"], drill: true, paused: true });
});

test("what is not passed on is not offered, and who may only look is offered nothing that changes something", async () => {
  const sent = listening();
  const passed = await shown(settings({ ...SESSION, through: "Airflow" }));
  expect(passed).not.toMatch(/token/i);
  expect(button("Delete the reclaimable files")).toBeUndefined();
  expect(button("Pause the schedule of orders")).toBeDefined();

  await shown(settings({ ...SESSION, through: "Airflow", may_change: false }));

  expect([...place.querySelectorAll("button")].map(({ textContent }) => textContent)).toEqual(["Refresh"]);
  expect(sent.filter(([, path]) => path === "/tokens")).toEqual([]);
});

test("a sweep and a removal are said twice before they are done", async () => {
  const sent = listening();
  await shown(settings(SESSION));
  await press("Delete the reclaimable files");
  await holds(() => expect(button("Delete the reclaimable files for good")).toBeDefined());
  expect(sent.filter(([method]) => method === "POST")).toEqual([]);

  await press("Delete the reclaimable files for good");

  await holds(() => expect(place.textContent).toContain("Deleted 2.0 KiB."));
  expect(sent.filter(([method]) => method === "POST")).toEqual([["POST", "/sweep", null]]);
});

test("rules that a form does not show stay as they are", () => {
  const texts = textsOf(SCHEDULE);

  expect(bodyOf(texts, SCHEDULE)).toEqual({ cron: "0 3 * * *", time_zone: "UTC", blackout: ["sat,sun 00:00-24:00"], drill: true, paused: false });
  expect(bodyOf({ ...texts, keepLast: "5", blackout: " \n09:00-17:00\n" }, SCHEDULE)).toMatchObject({ blackout: ["09:00-17:00"], retention: { keep_last: 5, daily: 7, time_zone: "UTC" } });
  expect(bodyOf({ ...texts, keepLast: "" }, { ...SCHEDULE, paused: true })).toMatchObject({ paused: true, retention: { keep_last: null, daily: 7 } });
  const onlyRule = { ...SCHEDULE, retention: { keep_last: 3, time_zone: "UTC" } as typeof SCHEDULE.retention };
  expect(bodyOf({ ...texts, keepLast: "" }, onlyRule)).not.toHaveProperty("retention");
  expect([keepsAll({ ...texts, keepLast: "" }, onlyRule), keepsAll({ ...texts, keepLast: "" }, SCHEDULE), keepsAll({ ...texts, keepLast: "4" }, onlyRule), keepsAll({ ...texts, keepLast: "" }, null)]).toEqual([true, false, false, false]);
  expect(bodyOf({ ...textsOf(null), timeZone: "" }, null)).toEqual({ cron: "0 2 * * *", time_zone: "UTC", blackout: [], drill: false, paused: false });
  expect(pausedBody(SCHEDULE, false)).not.toHaveProperty("retention");
});

test("rules are said in words", () => {
  expect(keptWords({})).toBe("all are kept");
  expect(keptWords({ weekly: 2, max_age_micros: 86_400_000_000 })).toBe("kept: one per week for 2 weeks, none older than 1 d");
  expect(keptWords({ max_age_micros: 86_400_000_000 })).toBe("none older than 1 d is kept");
  expect(scheduleWords({ ...SCHEDULE, blackout: [], drill: false })).toBe("0 3 * * * in UTC");
  expect(lastWords(null)).toBe("None due yet");
  expect(lastWords({ at: 0, state: "left_out", savepoint: null, reason: "the pipeline is Stopped" })).toBe("Last 1970-01-01 00:00:00 skipped: the pipeline is Stopped");
});

test("where what has the focus goes, what is near takes it, and nothing does what was left on purpose", async () => {
  const box = document.body.appendChild(document.createElement("main"));
  box.tabIndex = -1;
  box.innerHTML = "<h1>x</h1><ul><li><button>a</button></li><li><button>b</button></li></ul><a href='#x'>c</a>";
  const end = keepFocus(box);
  box.querySelector("button")!.focus();
  box.querySelector("li")!.remove();
  await holds(() => expect(document.activeElement?.textContent).toBe("b"));

  box.querySelector("ul")!.remove();
  await holds(() => expect(document.activeElement).toBe(box));

  box.querySelector("a")!.focus();
  box.querySelector("a")!.blur();
  await Promise.resolve();
  box.querySelector("a")!.remove();
  await new Promise((rest) => setTimeout(rest)); // observers are told before
  expect(document.activeElement).not.toBe(box);
  end();
  box.remove();
});

test("who leaves a button has not been sure", async () => {
  const action = vi.fn();
  await shown(<SureButton text="Delete" about="x" action={action} />);
  await press("Delete x");
  await holds(() => expect(button("Delete x for good")).toBeDefined());
  button("Delete x for good")!.dispatchEvent(new Event("blur"));
  await press("Delete x");
  await holds(() => expect(button("Delete x for good")).toBeDefined());
  expect(action).not.toHaveBeenCalled();
  await press("Delete x for good");
  expect(action).toHaveBeenCalledOnce();
});

test("a double click is sure of nothing, and makes one token", async () => {
  const action = vi.fn();
  const click = (name: string, detail: number) => button(name)!.dispatchEvent(new MouseEvent("click", { bubbles: true, detail }));
  await shown(<SureButton text="Delete" about="x" action={action} />);
  click("Delete x", 1);
  await holds(() => expect(button("Delete x for good")).toBeDefined());
  click("Delete x for good", 2);
  expect(action).not.toHaveBeenCalled();
  click("Delete x for good", 1);
  expect(action).toHaveBeenCalledOnce();

  const sent = listening();
  await shown(settings(SESSION));
  const form = place.querySelector<HTMLFormElement>("section[aria-label=Tokens] form")!;
  const submit = () => form.dispatchEvent(new Event("submit", { cancelable: true }));
  submit();
  submit();
  await holds(() => expect(sent.filter(([method, path]) => method === "GET" && path === "/tokens")).toHaveLength(2));
  expect(sent.filter(([method]) => method === "POST")).toHaveLength(1);
  submit();
  await holds(() => expect(sent.filter(([method]) => method === "POST")).toHaveLength(2));
});

test("all savepoints are kept again once the only rule is taken away", async () => {
  const sent = listening();
  const kept = vi.fn();
  const schedule = { ...SCHEDULE, retention: { keep_last: 3, time_zone: "UTC" } as typeof SCHEDULE.retention };
  await shown(<ScheduleDialog schedule={schedule} pipelines={["orders"]} close={() => undefined} kept={kept} />);
  const field = place.querySelector<HTMLInputElement>("input[inputmode=numeric]")!;
  field.value = "";
  field.dispatchEvent(new Event("input", { bubbles: true }));

  await new Promise(requestAnimationFrame);
  place.querySelector("form")!.dispatchEvent(new Event("submit", { cancelable: true }));

  await holds(() => expect(kept).toHaveBeenCalled());
  expect(sent.map(([method, path]) => `${method} ${path}`)).toEqual(["PUT /pipelines/pl_1/savepoint-schedule", "DELETE /pipelines/pl_1/savepoint-retention"]);
  expect(sent[0]![2]).not.toHaveProperty("retention");
});
