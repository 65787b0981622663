// @vitest-environment happy-dom
import type { ComponentChild } from "preact";
import { render } from "preact";
import { afterEach, expect, test, vi } from "vitest";
import { Refused } from "../src/api/client";
import type { Checkpoint, Complaint, Effects, Job, PipelineEvent, Savepoint, UpgradePlan } from "../src/api/types";
import { Complaints } from "../src/editor/script";
import { KeptList } from "../src/pages/connections";
import { Failure } from "../src/pages/pipeline";
import { ProblemBox } from "../src/parts/problem";
import { RowTable } from "../src/parts/row-table";
import { EffectList } from "../src/pipeline/action-dialog";
import { NOTHING_SAID } from "../src/pipeline/consent";
import { List } from "../src/pipeline/history";
import { matches, readLine } from "../src/pipeline/log-lines";
import { PlanTable } from "../src/pipeline/plan-table";
import { SqlDiff } from "../src/pipeline/sql-diff";
import { TimeLine } from "../src/pipeline/time-line";
import { spelled } from "../src/format";
import { pipelinePath, readRoute } from "../src/router";
import { hostile } from "./hostile";

const COUNT = Number(import.meta.env["VITE_HOSTILE_TEXTS"] ?? 2_000);
/** So many texts are drawn at once. */
const AT_ONCE = 20;
const ALLOWED = new Set("div span p ul ol li dl dt dd table thead tbody tr th td colgroup col code strong bdi h2 h3 label input select option section time del ins svg path rect title button".split(" "));

vi.setConfig({ testTimeout: 300_000 }); // 10,000 texts take seconds, and a minute on a busy machine

const place = document.body.appendChild(document.createElement("div"));
afterEach(() => render(null, place));

function draw(child: ComponentChild): HTMLElement {
  render(null, place);
  render(child, place);
  return place;
}

/** Whether nothing is there but what the components make by themselves. */
function strange(drawn: HTMLElement): string[] {
  const found: string[] = [];
  for (const element of drawn.querySelectorAll("*")) {
    if (!ALLOWED.has(element.tagName.toLowerCase())) found.push(element.tagName);
    for (const { name, value } of element.attributes) if (/^on/i.test(name) || /^\s*javascript:/i.test(value)) found.push(`${element.tagName} ${name}`);
  }
  return found;
}

test("why an upgrade could not go back is told with its failure", () => {
  const job = { state: "Failed", failure_code: "sql.broken", failure_message: "it broke", failure_hint: "mend it" } as unknown as Job;

  expect(draw(<Failure job={job} notUndone="savepoint.damaged: a file is missing" />).textContent).toContain("The automatic rollback failed: savepoint.damaged: a file is missing");
  expect(draw(<Failure job={job} notUndone={null} />).textContent).not.toContain("by itself");
});

test("what blocks a running job is no failure of the past", () => {
  const drawn = draw(<Failure job={{ state: "Running", blocked: true, failure_code: "data.disk_full", failure_message: "no room" } as unknown as Job} notUndone={null} />);
  expect(drawn.textContent).toBe("data.disk_full no room");
  expect(drawn.querySelector("[role=alert]")).not.toBeNull();
});

test("a state that cannot be read is advised of in the words of the page, and other failures as the run has said it", () => {
  const advised = (failure_code: string) => draw(<Failure job={{ state: "Failed", failure_code, failure_message: "x", failure_hint: "start with --force" } as unknown as Job} notUndone={null} />).textContent;

  expect(advised("state.unreadable")).toContain("Restore a savepoint (History lists them)");
  expect(advised("state.unreadable")).not.toContain("--force");
  expect(advised("sql.broken")).toContain("start with --force");
});

test("what is allowed by a field of a form is advised in its words, and else as the control plane has said it", () => {
  const kept = new Refused(409, "savepoint.kept", "it has 2 savepoints", "say --with-savepoints", [], null, "with_savepoints");

  expect(draw(<ProblemBox error={kept} fields={[{ name: "with_savepoints", label: "Delete its savepoints too" }]} />).textContent).toContain("Choose “Delete its savepoints too” above");
  expect(place.textContent).not.toContain("--with");
  expect(draw(<ProblemBox error={kept} fields={[{ name: "other", label: "Other" }]} />).textContent).toContain("say --with-savepoints");
  expect(draw(<ProblemBox error={new Refused(404, "pipeline.not_found", "there is no pipeline 'x'", "`arroyo list`", [])} />).textContent).toContain("The page Jobs lists all pipelines.");
  expect(draw(<ProblemBox error={new Refused(404, "request.not_found", "Not Found", null, [])} />).textContent).toContain("names have no slash");
});

test("a name in an error turns nothing round, and hides nothing", () => {
  const drawn = draw(<ProblemBox error={new Refused(404, "x.y", "no table a\u202eb, עב, גד", null, [])} />);

  expect(drawn.textContent).toContain("no table a\\u202eb, עב, גד");
  expect([...drawn.querySelectorAll("bdi bdi")].map((word) => word.textContent)).toEqual(["עב", "גד"]);
});

const DRAWN: readonly [string, (texts: string[]) => ComponentChild][] = [
  ["errors", ([a, b, c, ...rest]) => <ProblemBox error={new Refused(409, a!, b!, c!, rest.map((message): Complaint => ({ code: "x", message })))} />],
  ["failures", ([a, b, c, d]) => <Failure job={{ state: "Failed", failure_code: a, failure_message: b || "x", failure_hint: c } as unknown as Job} notUndone={d!} />],
  ["complaints of a script", (texts) => <Complaints verdict={{ errors: texts.map((text) => ({ code: text, message: text, hint: text })) }} isEmpty={false} />],
  ["effects", (texts) => <EffectList effects={{ lost: texts, kept: texts, voided: [], repeated: [], pause_micros: null } as unknown as Effects} />],
  ["plans", (texts) => <PlanTable plan={planOf(texts)} consent={{ ...NOTHING_SAID, reset: texts.slice(0, 3) }} changed={() => undefined} />],
  ["scripts side by side", (texts) => <SqlDiff before={texts.join("\n")} after={[...texts].reverse().join("\n")} />],
  ["rows of data", (texts) => <RowTable rows={[...texts].reverse().map((text, at) => ({ number: at, cells: { a: text.slice(0, 150), [text.slice(0, 150)]: { [text]: text } } }))} none="" />],
  ["lists", (texts) => <List heads={["a", "b"]} rows={texts.map((text) => [text, text])} none="" />],
  ["what is kept", (texts) => <KeptList title="Tables" none="" remove={async () => undefined} rows={texts.map((name, at) => ({ id: String(at), name, about: name, users: [name], path: null }))} />],
  ["what has happened", (texts) => <TimeLine savepoints={texts.map(savepointOf)} events={texts.map(eventOf)} epochs={[] as Checkpoint[]} isRunning />],
];

/** Where what a text would have obeyed is spelled out. */
const SENTENCES = new Set(["errors", "failures", "effects", "lists", "what has happened"]);

test.each(DRAWN)("hostile texts in %s are text", async (name, drawing) => {
  const texts = hostile(COUNT);
  for (let at = 0; at < texts.length; at += AT_ONCE) {
    const some = texts.slice(at, at + AT_ONCE);
    const drawn = draw(drawing(some));
    expect(strange(drawn)).toEqual([]);
    const shown = drawn.textContent!;
    const first = some[1]!.replace(/\n$/, "").split("\n")[0]!;
    expect(shown.includes(SENTENCES.has(name) ? spelled(first) : first)).toBe(true);
    await new Promise((rest) => setTimeout(rest)); // or all that was drawn before stays in memory
  }
});

test("names of hostile texts lead to their pages", () => {
  for (const name of hostile(COUNT).filter((text) => text !== "" && isWellFormed(text))) {
    expect(readRoute(pipelinePath(name, "logs"))).toEqual({ page: "pipeline", name, part: "logs" });
  }
});

test("hostile lines of a log are read and filtered", () => {
  for (const text of hostile(COUNT)) {
    expect(readLine(JSON.stringify({ time: text, level: "info", run: 1, text }))).toEqual({ time: text, level: "info", run: "1", text });
    expect(matches(readLine(text), text)).toBe(true);
  }
});

function planOf(texts: string[]): UpgradePlan {
  const verdicts = texts.map((text) => ({ subject: "operator", name: text, change: "REFUSED", reason: `${text}: --reset ${text} gives it up`, shown: text, loses: true, rows: 1, bytes: 1 }));
  return { id: "88aa", is_refused: true, loses_nothing: false, text: "", markdown: "", plan: { verdicts } };
}

function savepointOf(label: string, at: number): Savepoint {
  return { id: `sp_${at}`, label, created_at: at, state: "completed" } as unknown as Savepoint;
}

function eventOf(message: string, at: number): PipelineEvent {
  return { id: at, created_at: at, level: "info", message, code: null, details: message, run_id: null, who: message, pipeline_id: "p", pipeline: message };
}

/** Whether an address can have it: half a sign cannot. */
function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}
