// @vitest-environment happy-dom
import { render } from "preact";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ListedPipeline } from "../src/api/types";
import { BulkDialog } from "../src/jobs/bulk-dialog";
import { BULK, type Progress, planned, runBulk } from "../src/jobs/bulk";
import { shownRows } from "../src/jobs/rows";
import { readTags, tagTexts } from "../src/jobs/tags";

const place = document.body.appendChild(document.createElement("div"));
const STOP = BULK.find(({ verb }) => verb === "stop")!;
const UPGRADE = BULK.find(({ verb }) => verb === "upgrade")!;

function row(name: string, more: object = {}): ListedPipeline {
  return { id: `pl_${name}`, name, state: "Running", settled: true, tags: {}, ...more } as unknown as ListedPipeline;
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  render(null, place);
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

/** A control plane whose jobs stop two looks after they were asked to. */
function stopping(refused: string[] = []): { asked: string[]; most: number } {
  const seen = { asked: [] as string[], most: 0 };
  const looks = new Map<string, number>();
  vi.stubGlobal("fetch", async (path: string, { method }: RequestInit) => {
    const name = new URL(path, "http://there/").pathname.split("/").at(-1)!;
    if (method === "PATCH") {
      if (refused.includes(name)) return Response.json({ code: "pipeline.busy", detail: "it is busy" }, { status: 409 });
      seen.asked.push(name);
      looks.set(name, 0);
      seen.most = Math.max(seen.most, looks.size);
      return Response.json(row(name));
    }
    const count = (looks.get(name) ?? 0) + 1;
    looks.set(name, count);
    if (count < 3) return Response.json(row(name, { settled: false, state: "CheckpointStopping" }));
    looks.delete(name);
    return Response.json(row(name, { state: "Stopped" }));
  });
  return seen;
}

test("no more pipelines are acted on at once than asked for, and a failure keeps none of the others", async () => {
  const seen = stopping(["b"]);
  const rows = ["a", "b", "c", "d"].map((name) => row(name));
  const steps: (readonly Progress[])[] = [];

  const running = runBulk(STOP, planned(STOP, [...rows, row("e", { state: "Stopped" })]), 2, new AbortController().signal, (progress) => steps.push(progress));
  await vi.advanceTimersByTimeAsync(30_000);

  expect((await running).map(({ state }) => state)).toEqual(["done", "failed", "done", "done", "skipped"]);
  expect(seen).toEqual({ asked: ["a", "c", "d"], most: 2 });
  expect(Math.max(...steps.map((progress) => progress.filter(({ state }) => state === "working").length))).toBe(2);
});

test("pipelines that have not begun are left alone once somebody says so", async () => {
  const seen = stopping();
  const ending = new AbortController();

  const running = runBulk(STOP, planned(STOP, ["a", "b", "c"].map((name) => row(name))), 1, ending.signal, () => undefined);
  await vi.advanceTimersByTimeAsync(500);
  ending.abort();
  await vi.advanceTimersByTimeAsync(30_000);

  await running;
  expect(seen.asked).toEqual(["a"]);
});

test("an upgrade deploys the same query again, and restarts the job only where that makes no version", async () => {
  const sent: string[] = [];
  let unchanged = true;
  vi.stubGlobal("fetch", async (path: string, { method, body }: RequestInit) => {
    sent.push(`${method} ${new URL(path, "http://there/").pathname.replace("/api/v1/pipelines", "")} ${body ?? ""}`.trim());
    return Response.json({ query: "SELECT 1", unchanged });
  });

  await UPGRADE.send(row("a"));
  unchanged = false;
  await UPGRADE.send(row("a"));

  const deploy = ["GET /a", 'PUT /by-name/a {"query":"SELECT 1"}'];
  expect(sent).toEqual([...deploy, "POST /a/restart {}", ...deploy]);
});

test("a bulk action shows what it would do to each pipeline, and one can be left out", async () => {
  const seen = stopping();
  render(<BulkDialog verb={STOP} rows={[row("a"), row("b"), row("c", { state: "Failed" })]} close={() => undefined} />, place);
  await vi.advanceTimersByTimeAsync(10);
  expect(place.textContent).toContain("Stop 2 pipelines");
  expect(place.textContent).toContain("skipped: not running");

  const box = place.querySelectorAll<HTMLInputElement>("input[type=checkbox]")[1]!;
  box.checked = false;
  box.dispatchEvent(new Event("change", { bubbles: true }));
  await vi.advanceTimersByTimeAsync(10);
  place.querySelector("form")!.dispatchEvent(new Event("submit", { cancelable: true }));
  await vi.advanceTimersByTimeAsync(30_000);

  expect(seen.asked).toEqual(["a"]);
  expect(place.textContent).toContain("The pipeline is stopped");
});

test("the search finds tags, and patterns of names", () => {
  const rows = [row("orders-eu", { tags: { team: "sales", critical: "" } }), row("orders-us"), row("clicks", { tags: { team: "web" } })];
  const found = (text: string) => shownRows(rows, { text, tone: null }, { column: "name", down: false }).map(({ name }) => name);

  expect(found("tag:team")).toEqual(["clicks", "orders-eu"]);
  expect(found("tag:team=sales")).toEqual(["orders-eu"]);
  expect(found("TAG:critical orders-*")).toEqual(["orders-eu"]);
  expect(found("orders-*")).toEqual(["orders-eu", "orders-us"]);
  expect(found("*-us")).toEqual(["orders-us"]);
});

test("tags are written as they are shown", () => {
  const tags = { team: "sales", critical: "" };
  expect(tagTexts(tags)).toEqual(["critical", "team=sales"]);
  expect(readTags("team=sales, critical")).toEqual(tags);
  expect(readTags("  ")).toEqual({});
});
