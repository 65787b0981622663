// @vitest-environment happy-dom
import { type ComponentChild, render } from "preact";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Effects, Job, Pipeline, Savepoint } from "../src/api/types";
import { forgetAll } from "../src/editor/draft";
import { Editor } from "../src/pages/editor";
import { Fork } from "../src/pages/fork";
import { Jobs } from "../src/pages/jobs";
import { Toasts, clearToasts } from "../src/parts/toast";
import { ActionDialog } from "../src/pipeline/action-dialog";
import { actionsOf, spell } from "../src/pipeline/actions";
import { follow, outcomeOf } from "../src/pipeline/follow";
import { History } from "../src/pipeline/history";

const ORDERS = { id: "pl_1", name: "orders", state: "Running", version: 3, parallelism: 1, query: "SELECT 1", settled: true, settings: {}, tags: {} } as unknown as Pipeline;
const NOTHING: Effects = { stops: false, starts: false, pause_micros: null, kept: [], lost: [], repeated: [], voided: [], upgrade: null, rollback: null };
const PACE = { every: 1_000, idle: 15_000, of: null };
const SAVED = { id: "sp_1", state: "completed", label: "nightly", epoch: 7, created_at: 0 } as Savepoint;
const place = document.body.appendChild(document.createElement("div"));

type Answers = (method: string, path: string) => unknown;

class Quiet {
  readyState = 0;
  addEventListener(): void {}
  close(): void {}
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("EventSource", Quiet);
});
afterEach(() => {
  render(null, place);
  clearToasts();
  forgetAll();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

function answering(answers: Answers): void {
  vi.stubGlobal("fetch", async (path: string, { method }: RequestInit) => {
    const found = answers(method!, new URL(path, "http://there/").pathname.replace("/api/v1", ""));
    return found instanceof Response ? found : Response.json(found);
  });
}

async function shown(child: ComponentChild): Promise<string> {
  render(child, place);
  await vi.advanceTimersByTimeAsync(1_000);
  return place.textContent!;
}

function button(text: string): HTMLButtonElement {
  return [...place.querySelectorAll("button")].find(({ textContent }) => textContent!.trim() === text)!;
}

test("a savepoint of a job that has committed nothing cannot be chosen, and says why", () => {
  const reason = (epoch: number | null) => actionsOf(ORDERS, [], epoch).find(({ name }) => name === "Savepoint")!.unavailable;

  expect(reason(null)).toContain("No epoch has been committed yet");
  expect(reason(0)).toBeUndefined();
});

test("a rescale to the parallelism that there is already is not offered", async () => {
  const rescale = actionsOf(ORDERS, [], 1).find(({ name }) => name === "Rescale")!;
  expect(rescale.noChange!({ parallelism: "2" })).toBe(null);

  expect(await shown(<ActionDialog action={rescale} close={() => undefined} done={() => undefined} />)).toContain("The parallelism is 1 already");
  expect(button("Rescale").disabled).toBe(true);
  expect(place.querySelector("[role=alert]")).toBe(null); // nothing is wrong yet
});

test("a job at rest is not said to keep running", () => {
  expect(spell(NOTHING, String)[0]!.items).toEqual(["The job keeps running."]);
  expect(spell(NOTHING, String, true)[0]!.items).toEqual(["The job stays stopped."]);
});

test("a fork of a pipeline without a savepoint offers to take one", async () => {
  const savepoints: Savepoint[] = [];
  answering((method, path) => {
    if (path.endsWith("/validate_query")) return { errors: [] };
    if (path.endsWith("/jobs")) return { data: [{ epoch: 7 }] };
    if (path.endsWith("/savepoints") && method === "POST") savepoints.push({ ...SAVED, state: "pending" });
    if (path.endsWith("/savepoints/sp_1")) return (savepoints[0] = SAVED);
    if (path.endsWith("/savepoints")) return method === "POST" ? savepoints[0] : { data: savepoints };
    return ORDERS;
  });
  expect(await shown(<Fork pipeline="orders" />)).toContain("the original has none");

  button("Take a savepoint now").click();
  await vi.advanceTimersByTimeAsync(3_000);

  expect([...place.querySelectorAll("option")].map(({ value }) => value)).toEqual(["sp_1"]);
});

test("a fork of a pipeline that has committed nothing says so", async () => {
  answering((_, path) => (path.endsWith("/validate_query") ? { errors: [] } : path.endsWith("/jobs") ? { data: [{ epoch: null }] } : path.endsWith("/savepoints") ? { data: [] } : ORDERS));

  expect(await shown(<Fork pipeline="orders" />)).toContain("No epoch has been committed yet");
  expect(button("Take a savepoint now")).toBeUndefined();
});

test("a new pipeline with the name of another one updates it only when somebody says so", async () => {
  answering((_, path) => (path.endsWith("/validate_query") ? { errors: [] } : path.includes("/by-name/") ? NOTHING : path === "/pipelines" ? { data: [ORDERS], has_more: false } : ORDERS));
  await shown(<Editor pipeline={null} example="sellers" />);
  const name = place.querySelector<HTMLInputElement>("label input")!;
  name.value = "orders";
  name.dispatchEvent(new Event("input", { bubbles: true }));
  await vi.advanceTimersByTimeAsync(1_000);

  button("Deploy").click();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(place.textContent).toContain("Update the existing pipeline orders");
  expect(button("Update").disabled).toBe(true);

  const box = place.querySelector<HTMLInputElement>("dialog input[type=checkbox]")!;
  box.checked = true;
  box.dispatchEvent(new Event("change", { bubbles: true }));
  await vi.advanceTimersByTimeAsync(1_000);
  expect(button("Update").disabled).toBe(false);
});

test("a new name is deployed without a further question, and no request for it fails", async () => {
  const failed: string[] = [];
  answering((_, path) => {
    if (path.endsWith("/validate_query")) return { errors: [] };
    if (path.includes("/by-name/")) return NOTHING;
    if (path === "/pipelines" || path.endsWith("/connection_tables")) return { data: [ORDERS], has_more: false };
    if (path.startsWith("/pipelines")) failed.push(path);
    return Response.json({ code: "pipeline.not_found", detail: "none" }, { status: 404 });
  });
  await shown(<Editor pipeline={null} example="sellers" />);

  button("Deploy").click();
  await vi.advanceTimersByTimeAsync(1_000);

  expect(place.querySelector("dialog")!.textContent).toContain("Deploy sellers");
  expect(place.querySelector("dialog input[type=checkbox]")).toBe(null);
  expect(failed).toEqual([]);
});

test("escape clears the search and leaves it", async () => {
  answering(() => ({ data: [{ ...ORDERS, cpu_cores: null, memory_bytes: null, rows_per_second: null, lag_micros: null, complete_until: null, restarts: 0 }], has_more: false }));
  await shown(<Jobs />);
  const search = place.querySelector<HTMLInputElement>("input[type=search]")!;
  search.focus();
  search.value = "or";
  search.dispatchEvent(new Event("input", { bubbles: true }));

  search.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true, cancelable: true }));
  await vi.advanceTimersByTimeAsync(50);

  expect(document.activeElement).not.toBe(search);
  expect(search.value).toBe("");
});

test.each([
  ["Stop", [{ ...ORDERS, state: "CheckpointStopping", settled: false }, { ...ORDERS, state: "Stopped" }], "Stop of orders finished. The pipeline is stopped.", false],
  ["Start", [{ ...ORDERS, state: "Scheduling" }, { ...ORDERS, state: "Failed" }], "Start of orders: the pipeline has failed. sql.broken no such table", true],
] as const)("how %s ended is told once it has", async (name, states, text, isBad) => {
  let asked = 0;
  answering((_, path) => (path.endsWith("/jobs") ? { data: [{ failure_code: "sql.broken", failure_message: "no such table" } as Job] } : states[Math.min(asked++, states.length - 1)]));

  const found = outcomeOf({ name, pipeline: "orders" }, null);
  await vi.advanceTimersByTimeAsync(5_000);

  expect(await found).toEqual({ text, isBad });
});

test("a savepoint that failed stays on the screen until it is dismissed, and one that was taken does not", async () => {
  let state = "failed";
  answering(() => ({ ...SAVED, state, failure_message: "no room" }));
  await shown(<Toasts />);

  await follow({ name: "Savepoint", pipeline: "orders" }, SAVED);
  state = "completed";
  await follow({ name: "Savepoint", pipeline: "orders" }, SAVED);
  await vi.advanceTimersByTimeAsync(10);
  expect(place.textContent).toContain("no room");
  expect(place.textContent).toContain("Savepoint nightly of orders completed at epoch 7.");

  await vi.advanceTimersByTimeAsync(60_000);
  expect(place.textContent).not.toContain("completed");
  place.querySelector("button")!.click();
  await vi.advanceTimersByTimeAsync(10);
  expect(place.textContent).toBe("");
});

test("each savepoint has its own restore and fork", async () => {
  const chosen: string[] = [];
  answering((_, path) => ({ data: path.endsWith("/savepoints") ? [SAVED, { ...SAVED, id: "sp_2", state: "failed" }] : [] }));

  await shown(<History pipeline={ORDERS} job={{ id: "job_1", state: "Running" } as Job} pace={PACE} act={(action) => chosen.push(action.fields[0]!.value)} />);
  place.querySelector<HTMLButtonElement>('[aria-label="Restore savepoint nightly"]')!.click();

  expect(chosen).toEqual(["sp_1"]);
  expect([...place.querySelectorAll<HTMLAnchorElement>('[aria-label^="Fork savepoint"]')].map((link) => link.getAttribute("href"))).toEqual(["#/editor/orders/fork/sp_1"]);
});
