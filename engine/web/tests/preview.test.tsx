// @vitest-environment happy-dom
import { render } from "preact";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { readExactly } from "../src/api/exact";
import { RowTable } from "../src/parts/row-table";
import { PreviewPanel } from "../src/preview/preview-panel";
import { MOST_ROWS, type Piece, type Shown, taken } from "../src/preview/rows";

vi.setConfig({ testTimeout: 60_000 }); // a thousand columns take seconds on a busy machine

const place = document.body.appendChild(document.createElement("div"));
beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  render(null, place);
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

function piece(table: string, start_id: number, ...numbers: number[]): Piece {
  return { operator_id: table, start_id, batch: JSON.stringify(numbers.map((n) => ({ n }))) };
}

const numbers = (shown: Shown) => shown.rows.map(({ number, cells }) => [number, cells["n"]]);

test("rows that are sent again are taken once, and a count that begins anew shows its own rows", () => {
  const first = taken(undefined, piece("t", 0, 10, 20, 30));
  const again = taken(first, piece("t", 1, 20, 30, 40));
  expect(numbers(again)).toEqual([1, 2, 3, 4].map((at) => [at, at * 10]));
  expect(taken(again, piece("t", 0, 10, 20, 30, 40))).toEqual(again);

  expect(numbers(taken(again, piece("t", 0, 7)))).toEqual([[1, 7]]);

  const many = taken(again, piece("t", 4, ...Array.from({ length: MOST_ROWS }, (_, at) => at)));
  expect([many.rows.length, many.total, many.rows[0]!.number]).toEqual([MOST_ROWS, MOST_ROWS + 4, 5]);
});

test("numbers are shown as they are written", () => {
  const text = '{"a": 18446744073709551615, "b": 9007199254740993, "c": 9007199254740992, "d": 0.1234567890123456789, "e": "12345678901234567890 \\" 12345678901234567890"}';

  expect(readExactly(text)).toEqual({ a: "18446744073709551615", b: "9007199254740993", c: 9007199254740992, d: 0.1234567890123456789, e: "12345678901234567890 \" 12345678901234567890" });
});

test("of a thousand columns some are shown, all are found, and a row has all of them", async () => {
  const cells = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`column ${at}.`, at === 999 ? "x".repeat(50_000) : at]));
  render(<RowTable rows={[{ number: 1, cells }]} none="" />, place);
  expect(place.querySelectorAll("tbody td")).toHaveLength(50);
  expect(place.textContent).toContain("50 of 1000 columns");

  const search = place.querySelector<HTMLInputElement>("input")!;
  search.value = "COLUMN 999.";
  search.dispatchEvent(new Event("input", { bubbles: true }));
  await vi.advanceTimersByTimeAsync(50);
  expect(place.querySelectorAll("tbody td")).toHaveLength(1);
  expect(place.textContent).toContain("x… (50000 characters)");

  place.querySelector<HTMLButtonElement>("tbody button")!.click();
  await vi.advanceTimersByTimeAsync(50);
  expect(place.querySelectorAll(".whole-row dt")).toHaveLength(1_000);
  expect(place.textContent!.length).toBeLessThan(60_000);
});

/** A control plane with one preview. */
class Plane {
  asked: [string, string, unknown][] = [];
  state = "Scheduling";
  failure: object = {};
  refusal: object | null = null;
  private pieces: ReadableStreamDefaultController<Uint8Array> | null = null;

  answer = async (path: string, { method, body }: RequestInit): Promise<Response> => {
    if (method !== "GET") this.asked.push([method!, path, JSON.parse(String(body))]);
    if (this.refusal) return Response.json(this.refusal, { status: 400 });
    if (path.endsWith("/jobs")) return Response.json({ data: [{ id: "job_1", state: this.state, settled: true, step: null, sinks: { some: {}, more: {} }, ...this.failure }] });
    if (path.endsWith("/output")) return new Response(new ReadableStream<Uint8Array>({ start: (pieces) => void (this.pieces = pieces) }));
    return Response.json({ id: "pl_1" });
  };

  async send(sent: Piece): Promise<void> {
    const [first, second] = [`retry: 1000\n\ndata: ${JSON.stringify(sent)}`.slice(0, 30), `retry: 1000\n\ndata: ${JSON.stringify(sent)}`.slice(30)];
    for (const text of [first, second, "\n\n"]) this.pieces!.enqueue(new TextEncoder().encode(text));
    await pass(100);
  }

  async rest(state: string): Promise<void> {
    this.state = state;
    for (let open = this.pieces; open !== null; open = this.pieces) {
      this.pieces = null;
      open.close();
      await pass(1_500); // whoever reads comes back once more
    }
  }
}

const pass = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);
const button = (name: string) => [...place.querySelectorAll("button")].find(({ textContent }) => textContent === name)!;

async function begin(plane: Plane, refused = vi.fn()): Promise<void> {
  vi.stubGlobal("fetch", plane.answer);
  render(<PreviewPanel query="SELECT 1" refused={refused} again={() => undefined} close={() => undefined} />, place);
  await pass(2_500);
}

const STOP = ["PATCH", "api/v1/pipelines/pl_1", { stop: "immediate" }];

test("rows are shown as they come, table by table, and it stops after a minute", async () => {
  const plane = new Plane();
  plane.state = "Running";
  await begin(plane);
  expect(plane.asked).toEqual([["POST", "api/v1/pipelines/preview", { query: "SELECT 1" }]]);
  expect(place.textContent).toContain("No rows yet.");

  await plane.send(piece("some", 0, 71, 72));
  await plane.send(piece("more", 3, 99));
  expect([...place.querySelectorAll("[role=tab]")].map(({ textContent }) => textContent)).toEqual(["some 2", "more 4"]);
  expect(place.querySelector("tbody")!.textContent).toBe("272171");
  button("more 4").click();
  await pass(50);
  expect(place.querySelector("tbody")!.textContent).toBe("499");

  await pass(50_000);
  expect(plane.asked).toHaveLength(1);
  await pass(10_000);
  expect(plane.asked.slice(1)).toEqual([STOP]);
  await plane.rest("Stopped");

  expect(place.textContent).toContain("The preview has ended. Nothing was written to a sink.");
  expect(place.querySelector("tbody")!.textContent).toBe("499");
  render(null, place);
  await pass(100);
  expect(plane.asked).toHaveLength(2);
});

test("while the control plane is away, a preview is running only as far as was seen", async () => {
  const plane = new Plane();
  plane.state = "Running";
  await begin(plane);
  expect(place.querySelector(".state")!.textContent).toBe("Running");

  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("nobody is there")));
  await pass(5_000);
  expect(place.querySelector(".state")!.textContent).toBe("Running last known");

  vi.stubGlobal("fetch", plane.answer);
  await pass(5_000);
  expect(place.querySelector(".state")!.textContent).toBe("Running");
});

test("somebody stops it, and whoever leaves before it is there ends it", async () => {
  const plane = new Plane();
  await begin(plane);
  button("Stop").click();
  await pass(100);
  expect([plane.asked.at(-1), button("Stop").disabled]).toEqual([STOP, true]);

  const other = new Plane();
  let begun: () => void = () => undefined;
  render(null, place);
  vi.stubGlobal("fetch", async (path: string, init: RequestInit) => {
    if (init.method === "POST") await new Promise<void>((done) => (begun = done));
    return other.answer(path, init);
  });
  render(<PreviewPanel key="other" query="SELECT 1" refused={() => undefined} again={() => undefined} close={() => undefined} />, place);
  await pass(100);
  render(null, place);
  begun();
  await pass(100);
  expect(other.asked.at(-1)).toEqual(STOP);
});

test("why it has failed is told, and what is refused is told to whoever has written it", async () => {
  const plane = new Plane();
  plane.state = "Failed";
  plane.failure = { failure_code: "sql.broken", failure_message: "it broke", failure_hint: "mend it" };
  await begin(plane);
  await plane.rest("Failed");
  expect(place.querySelector("[role=alert]")!.textContent).toBe("sql.broken it brokemend it");
  expect(button("Run again")).toBeTruthy();

  const refused = vi.fn();
  plane.refusal = { code: "sql.unknown_table", detail: "there is no table t", errors: [] };
  render(null, place);
  await begin(plane, refused);
  expect(place.textContent).toContain("there is no table t");
  expect(refused).toHaveBeenCalledOnce();
});
