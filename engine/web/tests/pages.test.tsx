// @vitest-environment happy-dom
import { type ComponentChild, render } from "preact";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ask } from "../src/api/client";
import type { Pipeline, Savepoint } from "../src/api/types";
import { App } from "../src/app";
import { beginWith, findWritten, forgetAll, keepWritten } from "../src/editor/draft";
import { Complaints, useVerdict } from "../src/editor/script";
import { Editor } from "../src/pages/editor";
import { Fork } from "../src/pages/fork";
import { Jobs } from "../src/pages/jobs";
import { Pipeline as PipelinePage } from "../src/pages/pipeline";
import { ActionDialog } from "../src/pipeline/action-dialog";
import { actionsOf } from "../src/pipeline/actions";
import { Logs } from "../src/pipeline/logs";
import { Output, ShownRows } from "../src/pipeline/output";
import { whyNoLines } from "../src/pipeline/overview";

/** What the control plane answers; nothing, when it is away. */
type Answers = (method: string, url: URL) => unknown;

const PACE = { every: 1_000, idle: 15_000, of: null };
const ORDERS = { id: "pl_1", name: "orders", settings: {} } as unknown as Pipeline;
const LISTED = { ...ORDERS, state: "Running", restarts: 0, lag_micros: null, complete_until: null, rows_per_second: null, cpu_cores: null, memory_bytes: null };
const place = document.body.appendChild(document.createElement("div"));

class Quiet {
  readyState = 0;
  addEventListener(): void {}
  close(): void {}
}

class Spoken extends Quiet {
  private readonly heard = new Map<string, (event: { data: string; lastEventId: string }) => void>();
  override addEventListener(kind?: string, heard?: (event: { data: string; lastEventId: string }) => void): void {
    this.heard.set(kind!, heard!);
  }
  say(kind: string): void {
    this.heard.get(kind)!({ data: "{}", lastEventId: "log-1" });
  }
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("EventSource", Quiet);
});
afterEach(() => {
  render(null, place);
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

function answering(answers: Answers): void {
  vi.stubGlobal("fetch", async (path: string, { method }: RequestInit) => {
    const found = await answers(method!, new URL(path, "http://there/"));
    if (found === undefined) throw new TypeError("nobody is there");
    return found instanceof Response ? found : Response.json(found);
  });
}

async function shown(child: ComponentChild): Promise<string> {
  render(child, place);
  await vi.advanceTimersByTimeAsync(500);
  return place.textContent!;
}

test("nobody has left before the control plane says so", async () => {
  const state = { isThere: true };
  answering((method) => (!state.isThere ? undefined : method === "DELETE" ? new Response(null, { status: 204 }) : { session: { who: "admin", version: "1" }, data: [], has_more: false }));
  expect(await shown(<App />)).toContain("Log out");
  const leave = () => [...place.querySelectorAll("button")].find(({ textContent }) => textContent === "Log out")!.click();

  state.isThere = false;
  leave();
  await vi.advanceTimersByTimeAsync(500);
  expect(place.textContent).toContain("The control plane does not respond.");
  expect(place.querySelector("#token")).toBe(null);

  state.isThere = true;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(place.textContent).toContain("The control plane does not respond."); // it is still to be read that nobody has left
  [...place.querySelectorAll("button")].find(({ textContent }) => textContent === "Try again")!.click();
  await vi.advanceTimersByTimeAsync(500);
  leave();
  await vi.advanceTimersByTimeAsync(500);
  expect(place.querySelector("#token")).not.toBe(null);
});

test.each([undefined, Response.json({ code: "http.unreachable", detail: "does not respond" }, { status: 502 })])(
  "a page that is opened while the control plane is away goes on asking until it is there",
  async (nobody) => {
    const state = { isThere: false, asked: 0 };
    answering(() => {
      state.asked += 1;
      return state.isThere ? { session: { who: "ann", version: "1" }, data: [], has_more: false } : nobody?.clone();
    });
    expect(await shown(<App />)).toContain("Reconnecting...");
    await vi.advanceTimersByTimeAsync(120_000);
    expect(place.textContent).toContain("does not respond");
    expect(state.asked).toBeLessThan(12); // more and more rarely

    state.isThere = true;
    await vi.advanceTimersByTimeAsync(30_000);
    expect(place.querySelector(".who")!.textContent).toBe("ann");
  },
);

test("a page that may not be shown says why, and asks no more", async () => {
  const state = { asked: 0 };
  answering(() => {
    state.asked += 1;
    return Response.json({ code: "auth.forbidden", detail: "not for you" }, { status: 403 });
  });

  expect(await shown(<App />)).toContain("not for you");
  await vi.advanceTimersByTimeAsync(120_000);

  expect(place.textContent).not.toContain("goes on asking");
  expect(state.asked).toBe(1);
});

test("who leaves is forgotten, also when the session was over before", async () => {
  const over = () => Response.json({ code: "auth.denied", detail: "nobody is let in", hint: null }, { status: 401 });
  answering((method) => (method === "DELETE" ? over() : { session: { who: "admin", version: "1" }, data: [], has_more: false }));
  await shown(<App />);
  keepWritten("/", { name: "mine", text: "SELECT 1" });

  [...place.querySelectorAll("button")].find(({ textContent }) => textContent === "Log out")!.click();
  await vi.advanceTimersByTimeAsync(500);

  expect(place.querySelector("#token")).not.toBe(null);
  expect(findWritten("/")).toBe(null);
});

test("what was written when a session ends is there for the same one who comes back, and for nobody else", async () => {
  const state = { who: "ann", isIn: true };
  const over = () => Response.json({ code: "auth.denied", detail: "nobody is let in", hint: null }, { status: 401 });
  const session = () => ({ who: state.who, version: "1" });
  answering((method, { pathname }) => {
    if (method === "POST") state.isIn = true;
    if (pathname.endsWith("/session")) return method === "POST" ? session() : { session: state.isIn ? session() : null };
    return state.isIn ? { data: [], has_more: false } : over();
  });
  async function comesBackAs(who: string): Promise<void> {
    state.isIn = false;
    await vi.advanceTimersByTimeAsync(20_000);
    expect(place.querySelector("#token")).not.toBe(null);
    state.who = who;
    place.querySelector("form")!.dispatchEvent(new Event("submit", { cancelable: true }));
    await vi.advanceTimersByTimeAsync(500);
    expect(place.querySelector(".who")!.textContent).toBe(who);
  }
  await shown(<App />);
  keepWritten("/", { name: "mine", text: "SELECT 1" });

  await comesBackAs("ann");
  expect(findWritten("/")).not.toBe(null);
  await comesBackAs("bob");
  expect(findWritten("/")).toBe(null);
});

test("whom another tab has let in takes the place of the one before as soon as somebody looks at this one", async () => {
  const state = { who: "ann" as string | null };
  answering((_, { pathname }) => (pathname.endsWith("/session") ? { session: state.who && { who: state.who, version: "1" } } : { data: [], has_more: false }));
  await shown(<App />);
  keepWritten("/", { name: "mine", text: "SELECT 1" });
  async function look(): Promise<void> {
    dispatchEvent(new Event("focus"));
    await vi.advanceTimersByTimeAsync(500);
  }

  await look();
  expect([place.querySelector(".who")!.textContent, findWritten("/")?.name]).toEqual(["ann", "mine"]);
  state.who = "bob";
  await look();
  expect([place.querySelector(".who")!.textContent, findWritten("/")]).toEqual(["bob", null]);
  state.who = null;
  await look();
  expect(place.querySelector("#token")).not.toBe(null);
});

test("who was let in by somebody else has nothing to leave, and is never asked for a token", async () => {
  const state = { isIn: true };
  const ended = () => Response.json({ code: "auth.denied", detail: "log in to Airflow", hint: "and load this page again" }, { status: 401 });
  answering(() => (state.isIn ? { session: { who: "ann", version: "1", through: "Airflow" }, data: [], has_more: false } : ended()));

  expect(await shown(<App />)).toContain("ann through Airflow");
  expect(place.textContent).not.toMatch(/Log out|API/);

  state.isIn = false;
  await vi.advanceTimersByTimeAsync(20_000);
  expect(place.textContent).toContain("and load this page again");
  expect(place.querySelector("#token")).toBe(null);
});

test("the newest rows are shown, however many have come at once", async () => {
  let written = 10;
  answering((_, url) => {
    const [limit, after] = [Number(url.searchParams.get("limit")), url.searchParams.get("after")];
    const from = after === null ? Math.max(0, written - limit) : Number(after);
    const to = Math.min(written, from + limit);
    return { data: Array.from({ length: to - from }, (_, at) => ({ row: `row ${from + at + 1}.` })), has_more: to < written, cursor: String(to) };
  });
  const output = <ShownRows pipeline={ORDERS} table="shown" pace={PACE} />;
  expect(await shown(output)).toContain("row 10.");

  written = 12;
  await vi.advanceTimersByTimeAsync(2_000);
  expect(place.textContent).toContain("12row 12.11row 11.10row 10.");
  written = 5_000;
  await vi.advanceTimersByTimeAsync(2_000);

  expect(place.textContent).toContain("5000row 5000.4999row 4999.");
  expect(place.querySelectorAll("tbody tr")).toHaveLength(200);
});

test.each([
  [[], "the newest row of a.json is longer than 1 MiB", "No rows shown: the newest row of a.json is longer than 1 MiB."],
  [[{ n: 1 }], "of a.json the last 1 MiB is read", "Earlier rows are not shown: of a.json the last 1 MiB is read."],
  [[], null, "No rows in its files yet."],
])("of the rows in files (%j) it is said why there are no more", async (data, left_out, text) => {
  const table = { name: "good", connector: "filesystem", role: "rows", sources: [], unreadable: null };
  answering((_, { pathname }) => (pathname.endsWith("/written") ? { data: [table] } : { data, left_out, role: "rows", replay: null }));

  const page = await shown(<Output pipeline={ORDERS} pace={PACE} />);

  expect(page).toContain(text);
  expect(page.includes("not shown")).toBe(left_out !== null && data.length > 0);
});

test("a log that grows by more lines than are shown at first is read to its end", async () => {
  let printed = 3;
  answering((_, url) => {
    const [limit, after] = [Number(url.searchParams.get("limit")), url.searchParams.get("after")];
    const from = after === null ? Math.max(0, printed - limit) : Number(after);
    const to = Math.min(printed, from + limit);
    return { data: Array.from({ length: to - from }, (_, at) => `line ${from + at + 1}.`), has_more: to < printed, cursor: String(to) };
  });
  expect(await shown(<Logs pipeline={ORDERS} pace={PACE} />)).toContain("line 3.");

  printed = 9_000;
  await vi.advanceTimersByTimeAsync(2_000);

  expect(place.textContent).toContain("line 9000.");
});

test("that no epoch is committed is said only where that is known", () => {
  expect(whyNoLines(null, false)).toBe("Loading the epochs...");
  expect(whyNoLines(null, true)).toBe("Loading the epochs...");
  expect(whyNoLines(0, true)).toBe("No figures of an epoch yet.");
  expect(whyNoLines(0, false)).toBe("No epoch has been committed yet.");
  expect(whyNoLines(1, true)).toContain("Charts start with the second");
});

test("of a long log the newest lines are drawn, earlier ones when asked for, and none of them anew when more come", async () => {
  let printed = 600;
  answering((_, url) => {
    const after = url.searchParams.get("after");
    const from = after === null ? 100 : Number(after);
    return { data: Array.from({ length: printed - from }, (_, at) => `line ${from + at + 1}.`), has_more: false, cursor: String(printed) };
  });
  const lines = () => [...place.querySelectorAll(".line")];
  expect(await shown(<Logs pipeline={ORDERS} pace={PACE} />)).toContain("The newest 200 of 500 lines.");
  expect([lines().length, lines()[0]!.textContent]).toEqual([200, " line 401."]);
  const second = lines()[1]!;

  printed = 601;
  await vi.advanceTimersByTimeAsync(2_000);
  expect([lines()[0] === second, lines()[199]!.textContent]).toEqual([true, " line 601."]);

  async function showEarlier(): Promise<void> {
    [...place.querySelectorAll("button")].find(({ textContent }) => textContent === "Show earlier lines")!.click();
    await vi.advanceTimersByTimeAsync(500);
  }
  await showEarlier();
  expect(lines()).toHaveLength(400);
  await showEarlier();
  expect([lines().length, lines()[0]!.textContent, place.querySelector(".earlier")]).toEqual([501, " line 101.", null]);
});

test("a new pipeline of the same name begins with nothing of the one before", async () => {
  let id = "pl_1";
  answering((_, url) => {
    const kind = url.pathname.split("/").at(-1);
    if (kind === "orders") return { ...ORDERS, id, state: "Running", version: 1, parallelism: 1, complete_until: null, checkpoint_interval_micros: null };
    if (kind === "logs") return url.searchParams.has("after") ? { data: [], cursor: "1" } : { data: [`printed by ${id}`], cursor: "1" };
    return { data: [] };
  });
  expect(await shown(<PipelinePage name="orders" shownPart="logs" />)).toContain("printed by pl_1");

  id = "pl_2";
  await vi.advanceTimersByTimeAsync(3_000);

  expect(place.textContent).toContain("printed by pl_2");
  expect(place.textContent).not.toContain("printed by pl_1");
});

test.each([
  [{ pid: 4711, drivers: 20 }, "process 4711, 20 pipelines"],
  [null, null],
])("a pipeline that shares its Java (%j) says with how many", async (shared_java, text) => {
  answering((_, url) => {
    const kind = url.pathname.split("/").at(-1);
    if (kind === "orders") return { ...ORDERS, state: "Running", version: 1, parallelism: 1, complete_until: null, checkpoint_interval_micros: null };
    if (kind === "jobs") return { data: [{ id: "job_1", state: "Running", epoch: 7, restarts_total: 0, start_time: null, shared_java }] };
    return { data: [], cursor: "1" };
  });

  const page = await shown(<PipelinePage name="orders" shownPart="logs" />);

  expect(page).toContain("Epoch7");
  if (text === null) expect(page).not.toContain("Shared JVM");
  else expect(page).toContain(text);
});

test("a script is looked at again while the control plane is away, until it is back", async () => {
  let isThere = false;
  answering(() => (isThere ? { errors: [] } : undefined));
  const Written = () => <Complaints verdict={useVerdict("SELECT 1")} isEmpty={false} />;
  expect(await shown(<Written />)).toContain("does not respond");

  isThere = true;
  await vi.advanceTimersByTimeAsync(5_000);

  expect(place.textContent).toContain("No problems.");
});

test("what is being done is not left before it is known whether it was done", async () => {
  let refuse: (error: Error) => void = () => undefined;
  const send = (_: unknown, isDryRun: boolean) => (isDryRun ? Promise.resolve({ lost: [], kept: [], voided: [], repeated: [] }) : new Promise((_done, fail) => (refuse = fail)));
  const close = vi.fn();
  await shown(<ActionDialog action={{ pipeline: "orders", name: "Stop", title: "Stop", about: "", confirm: "Stop", fields: [], send }} close={close} done={close} />);
  const dialog = place.querySelector("dialog")!;
  const leave = () => dialog.dispatchEvent(new Event("cancel", { cancelable: true }));
  const cancel = [...place.querySelectorAll("button")].find(({ textContent }) => textContent === "Cancel")!;
  expect(leave()).toBe(true);

  dialog.querySelector("form")!.dispatchEvent(new Event("submit", { cancelable: true }));
  await vi.advanceTimersByTimeAsync(500);
  expect([leave(), cancel.disabled]).toEqual([false, true]);
  refuse(new Error("it was not done"));
  await vi.advanceTimersByTimeAsync(500);

  expect([leave(), cancel.disabled, close.mock.calls]).toEqual([true, false, []]);
  expect(place.textContent).toContain("it was not done");
});

test("a dialog is left by going back, but for one in which something is being done", async () => {
  const send = (_: unknown, isDryRun: boolean) => (isDryRun ? Promise.resolve({ lost: [], kept: [], voided: [], repeated: [] }) : new Promise(() => undefined));
  const close = vi.fn();
  const stop = { pipeline: "orders", name: "Stop", title: "Stop", about: "", confirm: "Stop", fields: [], send };
  await shown(<ActionDialog action={stop} close={close} done={close} />);
  dispatchEvent(new Event("hashchange"));
  expect(close).toHaveBeenCalledTimes(1);

  place.querySelector("form")!.dispatchEvent(new Event("submit", { cancelable: true }));
  await vi.advanceTimersByTimeAsync(500);
  dispatchEvent(new Event("hashchange"));
  expect(close).toHaveBeenCalledTimes(1);
});

test("what nobody has answered may have been done, and what it would do is asked again until the control plane is back", async () => {
  const state = { isThere: false };
  const nothing = { lost: [], kept: [], voided: [], repeated: [] };
  answering(() => (state.isThere ? nothing : undefined));
  const send = (_: unknown, isDryRun: boolean) => ask("PATCH", "/pipelines/orders", { query: { dry_run: isDryRun } });
  const done = vi.fn();
  await shown(<ActionDialog action={{ pipeline: "orders", name: "Stop", title: "Stop", about: "", confirm: "Stop", fields: [], send }} close={done} done={done} />);
  const confirm = () => [...place.querySelectorAll("button")].find(({ textContent }) => textContent === "Stop")!;
  expect([place.textContent!.includes("does not respond"), confirm().disabled]).toEqual([true, true]);
  state.isThere = true;
  await vi.advanceTimersByTimeAsync(5_000);
  expect([place.textContent!.includes("does not respond"), confirm().disabled]).toEqual([false, false]);
  expect(place.textContent).not.toContain("may have been applied");

  state.isThere = false;
  place.querySelector("form")!.dispatchEvent(new Event("submit", { cancelable: true }));
  await vi.advanceTimersByTimeAsync(500);
  expect([place.textContent!.includes("may have been applied"), confirm().disabled]).toEqual([true, true]);
  state.isThere = true;
  await vi.advanceTimersByTimeAsync(5_000);
  expect([place.textContent!.includes("may have been applied"), confirm().disabled]).toEqual([true, false]);
  place.querySelector("form")!.dispatchEvent(new Event("submit", { cancelable: true }));
  await vi.advanceTimersByTimeAsync(500);
  expect(done).toHaveBeenCalledTimes(1);
});

test("what is no number is not asked for, and its field is named", async () => {
  const send = vi.fn(async () => ({ lost: [], kept: [], voided: [], repeated: [], pause_micros: null }));
  const rescale = { pipeline: "orders", name: "Rescale", title: "Rescale", about: "", confirm: "Rescale", fields: [{ name: "parallelism", label: "Parallelism", kind: "number", value: "two" }], send } as const;
  await shown(<ActionDialog action={rescale} close={() => undefined} done={() => undefined} />);
  await vi.advanceTimersByTimeAsync(1_000);

  expect(place.querySelector("[role=alert]")?.textContent).toContain("whole number of at least 1 for “Parallelism”");
  expect([send.mock.calls.length, [...place.querySelectorAll("button")].at(-1)!.disabled]).toEqual([0, true]);
  const field = place.querySelector("input")!;
  field.value = "2";
  field.dispatchEvent(new Event("input", { bubbles: true }));
  await vi.advanceTimersByTimeAsync(1_000);
  expect([send.mock.calls.length, place.querySelector("[role=alert]")]).toEqual([1, null]);
});

test("what is confirmed twice before it is drawn is done once, and takes nobody elsewhere who has left meanwhile", async () => {
  const ends: (() => void)[] = [];
  const send = (_: unknown, isDryRun: boolean) => (isDryRun ? Promise.resolve({ lost: [], kept: [], voided: [], repeated: [] }) : new Promise<void>((end) => ends.push(end)));
  const done = vi.fn();
  const stop = { pipeline: "orders", name: "Stop", title: "Stop", about: "", confirm: "Stop", fields: [], send };
  await shown(<ActionDialog action={stop} close={done} done={done} />);
  const confirm = () => place.querySelector("form")!.dispatchEvent(new Event("submit", { cancelable: true }));
  confirm();
  confirm();
  await vi.advanceTimersByTimeAsync(500);
  expect(ends).toHaveLength(1);

  await shown(<p>another page</p>);
  ends[0]!();
  await vi.advanceTimersByTimeAsync(500);
  expect(done).not.toHaveBeenCalled();
});

test("what was written and not deployed is there again, until it is begun anew or somebody leaves", async () => {
  answering((_, { pathname }) => (pathname.endsWith("/validate_query") ? { errors: [] } : pathname.endsWith("/connection_tables") ? { data: [], has_more: false } : { ...ORDERS, query: "SELECT 1" }));
  const name = () => place.querySelector("input")!;
  await shown(<Editor key="first" pipeline={null} example="sellers" />);
  const choose = place.querySelector("select")!;
  choose.value = "expensive-bids";
  choose.dispatchEvent(new Event("change"));
  await vi.advanceTimersByTimeAsync(500);
  expect(name().value).toBe("expensive-bids");

  await shown(<p>another page</p>);
  expect(await shown(<Editor key="again" pipeline={null} example="sellers" />)).toContain("Restored an unsaved draft");
  expect(name().value).toBe("expensive-bids");
  [...place.querySelectorAll("button")].find(({ textContent }) => textContent === "Discard")!.click();
  await vi.advanceTimersByTimeAsync(500);
  expect([name().value, place.textContent!.includes("Restored an unsaved draft")]).toEqual(["sellers", false]);

  keepWritten("orders/", { name: "orders", text: "SELECT 2" });
  expect(await shown(<Editor key="edit" pipeline="orders" />)).toContain("Restored an unsaved draft");
  forgetAll();
  await shown(<p>another page</p>);
  forgetAll();
  expect(await shown(<Editor key="edit again" pipeline="orders" />)).not.toContain("Restored an unsaved draft");
});

const WHILE_WRITING: Answers = (method, { pathname, searchParams }) => {
  if (pathname.endsWith("/validate_query")) return { errors: [] };
  if (pathname.endsWith("/connection_tables")) return { data: [], has_more: false };
  if (pathname.endsWith("/pipelines")) return { data: [ORDERS], has_more: false };
  return method === "PUT" && searchParams.get("dry_run") === "true" ? { lost: [], kept: [], voided: [], repeated: [] } : { ...ORDERS, query: "SELECT 1" };
};

test("what was deployed is not there again, though somebody has gone to another page meanwhile", async () => {
  let end: (() => void) | null = null;
  const deployed = new Promise<Response>((answered) => (end = () => answered(Response.json(ORDERS))));
  answering((method, url) => (method === "PUT" && url.searchParams.get("dry_run") === "false" ? deployed : WHILE_WRITING(method, url)));
  keepWritten("/", { name: "orders", text: "SELECT 2" });
  expect(await shown(<Editor key="deploys" pipeline={null} />)).toContain("Restored an unsaved draft");
  const press = (text: string) => [...place.querySelectorAll("button")].filter(({ textContent }) => textContent === text).at(-1)!.click();
  press("Deploy");
  await vi.advanceTimersByTimeAsync(500);
  const box = place.querySelector<HTMLInputElement>("dialog input[type=checkbox]")!; // the name is that of another pipeline
  box.checked = true;
  box.dispatchEvent(new Event("change"));
  await vi.advanceTimersByTimeAsync(500);
  press("Update");
  await vi.advanceTimersByTimeAsync(500);

  await shown(<p>another page</p>);
  expect(findWritten("/")).not.toBe(null);
  end!();
  await vi.advanceTimersByTimeAsync(500);

  expect(findWritten("/")).toBe(null);
});

test("a script of another page takes the place of nothing that was written", async () => {
  answering(WHILE_WRITING);
  const name = () => place.querySelector("input")!.value;
  keepWritten("/", { name: "mine", text: "SELECT 1" });
  beginWith("SELECT 2");
  expect(await shown(<Editor key="replayed" pipeline={null} />)).not.toContain("Restored an unsaved draft");
  expect(name()).toBe("");

  await shown(<p>another page</p>);
  expect(await shown(<Editor key="new" pipeline={null} />)).toContain("Restored an unsaved draft");
  expect(name()).toBe("mine");
  forgetAll();
});

test("a choice of savepoints is there when there are some, and none that goes away again", async () => {
  const savepoints: object[] = [];
  answering((_, { pathname }) => (pathname.endsWith("/savepoints") ? { data: savepoints } : pathname.endsWith("/jobs") ? { data: [] } : pathname.endsWith("/validate_query") ? { problems: [] } : { ...ORDERS, query: "SELECT 1" }));

  render(<Fork pipeline="orders" />, place);
  expect(place.querySelector("select")).toBe(null);
  await vi.advanceTimersByTimeAsync(500);
  expect(place.textContent).toContain("No epoch has been committed yet");
  expect(place.querySelector("select")).toBe(null);

  savepoints.push({ id: "sp_1", state: "completed", label: "nightly", epoch: 4, created_at: 0 });
  await shown(<Fork key="again" pipeline="orders" />);
  expect(place.querySelector("select")!.value).toBe("sp_1");
});

test("names that turn text round turn nothing round in titles, choices and tabs", async () => {
  const turning = "\u202eabc";
  const [savepoint, table] = [{ id: "sp_1", state: "completed", label: turning, epoch: 4, created_at: 0 }, { operator_id: null }];
  answering((method, { pathname }) => {
    if (pathname.endsWith("/savepoints")) return { data: [savepoint] };
    if (pathname.endsWith("/jobs")) return { data: [] };
    if (pathname.endsWith("/validate_query")) return { errors: [] };
    if (pathname.endsWith("/completions")) return table;
    return method === "POST" ? { lost: [], kept: [], voided: [], repeated: [] } : { ...ORDERS, name: turning, query: "SELECT 1" };
  });
  await shown(<Fork pipeline={turning} />);
  const name = place.querySelector("input")!;
  name.value = turning;
  name.dispatchEvent(new Event("input"));
  await vi.advanceTimersByTimeAsync(1_000);
  place.querySelector<HTMLButtonElement>(".tools button.primary")!.click();
  await vi.advanceTimersByTimeAsync(500);

  expect(place.querySelector("dialog h2")!.textContent).toBe("Fork \ufffdabc as \ufffdabc");
  expect(place.querySelector("option")!.textContent).toContain("\ufffdabc, epoch 4");
  const [choice] = actionsOf({ ...ORDERS, state: "Running", version: 1 } as Pipeline, [savepoint as Savepoint]).find(({ name }) => name === "Restore")!.fields;
  expect(choice!.choices).toEqual([["sp_1", "\ufffdabc, epoch 4"]]);
});

test("while the control plane is away, a pipeline is running only as far as was seen", async () => {
  const state = { isThere: true };
  const job = { id: "job_1", state: "Running", step: "reading", checkpoint: null };
  const running = { ...ORDERS, state: "Running", version: 1, parallelism: 1, checkpoint_interval_micros: null, complete_until: null, query: "SELECT 1" };
  answering((method, url) => {
    if (!state.isThere) return undefined;
    if (method === "PATCH") return { lost: [], kept: [], voided: [], repeated: [] };
    return url.pathname.endsWith("/jobs") ? { data: [job] } : url.pathname.endsWith("/savepoints") ? { data: [] } : running;
  });
  await shown(<PipelinePage name="orders" shownPart="query" />);
  const mark = () => place.querySelector(".state")!;
  expect([mark().textContent, mark().className]).toEqual(["Running", "state good"]);

  state.isThere = false;
  await vi.advanceTimersByTimeAsync(20_000);
  expect(place.textContent).toContain("The control plane does not respond.");
  expect(place.textContent).toContain("last known data");
  expect(place.textContent).not.toContain("reading");
  expect([mark().textContent, mark().className]).toEqual(["Running last known", "state calm"]);
  const stop = () => [...place.querySelectorAll<HTMLButtonElement>(".buttons button")].find(({ textContent }) => textContent === "Stop")!;
  stop().click();
  await vi.advanceTimersByTimeAsync(500);
  expect([stop().getAttribute("aria-disabled"), place.querySelector("dialog")]).toEqual(["true", null]);
  expect(document.getElementById(stop().getAttribute("aria-describedby")!)!.textContent).toContain("Actions are unavailable until the control plane responds.");

  state.isThere = true;
  await vi.advanceTimersByTimeAsync(40_000);
  expect(stop().getAttribute("aria-disabled")).toBe(null);
  stop().click();
  await vi.advanceTimersByTimeAsync(500);
  expect(place.querySelector("dialog")).not.toBe(null);
  expect(mark().textContent).toBe("Running");
  expect(place.textContent).not.toContain("last known data");
});

test("pipelines are counted once it is known which there are", async () => {
  const state = { isThere: false };
  answering(() => (state.isThere ? { data: [], has_more: false } : undefined));
  const chips = () => [...place.querySelectorAll(".chip .number")].map(({ textContent }) => textContent);
  await shown(<Jobs />);
  expect(chips()).toEqual(["–", "–", "–", "–", "–"]);

  state.isThere = true;
  await vi.advanceTimersByTimeAsync(40_000);
  expect(chips()).toEqual(["0", "0", "0", "0", "0"]);
});

test("a part of a pipeline that there is not is its overview", async () => {
  const running = { ...ORDERS, state: "Stopped", version: 1, parallelism: 1, checkpoint_interval_micros: null, complete_until: null, query: "SELECT 1" };
  answering((_, { pathname }) => (pathname.endsWith("/jobs") || pathname.endsWith("/savepoints") ? { data: [] } : running));
  await shown(<PipelinePage name="orders" shownPart="overveiw" />);

  expect(place.querySelector("[aria-current=page]")?.textContent).toBe("Overview");
});

test("a page asks soon after the stream of changes is back, however long it had to rest before", async () => {
  const streams: Spoken[] = [];
  vi.stubGlobal("EventSource", class extends Spoken {
    constructor() {
      super();
      streams.push(this);
    }
  });
  const state = { isThere: true };
  answering(() => (state.isThere ? { data: [LISTED], has_more: false } : undefined));
  await shown(<Jobs />);
  streams[0]!.say("ready");
  state.isThere = false;
  streams[0]!.say("error");
  await vi.advanceTimersByTimeAsync(200_000);
  expect(place.textContent).toContain("does not respond");

  state.isThere = true;
  streams[0]!.say("ready");
  await vi.advanceTimersByTimeAsync(2_000);

  expect(place.textContent).not.toContain("does not respond");
});

test("while the control plane is away, the list says that it is from before", async () => {
  const state = { isThere: true };
  answering(() => (state.isThere ? { data: [LISTED], has_more: false } : undefined));
  expect(await shown(<Jobs />)).toContain("orders");

  state.isThere = false;
  await vi.advanceTimersByTimeAsync(60_000);

  expect(place.textContent).toContain("orders");
  expect(place.textContent).toContain("last known data");
  expect(place.querySelector("tbody .state")!.textContent).toBe("Running last known");

  state.isThere = true;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(place.querySelector("tbody .state")!.textContent).toBe("Running");
});
