// @vitest-environment happy-dom
import { render } from "preact";
import { afterEach, expect, test } from "vitest";
import type { Checkpoint, HeldBy, Job } from "../src/api/types";
import { Held } from "../src/pages/pipeline";
import { heldBy } from "../src/pipeline/held";
import type { DrawnNode } from "../src/pipeline/graph";
import { figuresOf } from "../src/pipeline/overview";

const NOON = Date.UTC(2026, 0, 1, 12) * 1_000;
const HELD: HeldBy = { reason: "no_rows", remedy: "a row in partition 3 of orders whose watermark expression is later", source: "orders", partition: "3", watermark: null };
const place = document.body.appendChild(document.createElement("div"));
afterEach(() => render(null, place));

function job(state: string, ...held: (HeldBy | null)[]): Job {
  return { state, sinks: Object.fromEntries(held.map((held_by, at) => [`sink${at}`, { complete_until: NOON + at, held_by }])) } as unknown as Job;
}

function text(found: Job): string {
  render(<Held job={found} />, place);
  return place.textContent!;
}

test("the source and the partition that output waits for are named, with what moves it on", () => {
  expect(text(job("Running", HELD))).toBe("Output waits for orders, partition 3: no row yet. What moves it on: a row in partition 3 of orders whose watermark expression is later.");
});

test("where the oldest rows hold it, the watermark there is told and nothing is advised", () => {
  const shown = text(job("Running", { ...HELD, reason: "oldest_rows", partition: null, watermark: NOON }));

  expect(shown).toMatch(/^Output waits for orders: the oldest rows \(watermark 2026-01-01 12:00:00.*\)\.$/);
});

test("of several sinks the least complete one counts", () => {
  expect(heldBy(job("Running", HELD, { ...HELD, source: "clicks" }))).toBe(HELD);
  expect(heldBy(job("Running", null, { ...HELD, source: "clicks" }))!.source).toBe("clicks");
});

test.each(["Stopped", "Failed", "Finished"])("a job that is %s waits for nothing", (state) => {
  expect(text(job(state, HELD))).toBe("");
});

test("without a source in the way nothing is shown", () => {
  expect(text(job("Running", null))).toBe("");
  expect(heldBy({ state: "Running" } as Job)).toBe(null); // a control plane of an earlier version
});

function epoch(dropped_rows: number): Checkpoint {
  return { since_previous_micros: 1_000_000, tables: { orders: { rows_in: 10, dropped_rows } } } as unknown as Checkpoint;
}

test("the count of dropped rows is told as a total, and stands out only where it has grown", () => {
  const scan = { operator: "Scan", description: "Scan orders (n)" } as DrawnNode;

  const grown = figuresOf(scan, epoch(3), epoch(1), null)!;
  expect(grown.text).toContain("3 dropped in total");
  expect(grown.isHot).toBe(true);
  expect(figuresOf(scan, epoch(3), epoch(3), null)!.isHot).toBe(false);
  expect(figuresOf(scan, epoch(3), null, null)!.isHot).toBe(true);
  expect(figuresOf(scan, epoch(0), null, null)!.text).not.toContain("dropped");
});
