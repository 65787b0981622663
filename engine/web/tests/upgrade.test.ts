import { expect, test } from "vitest";
import type { UpgradePlan } from "../src/api/types";
import { type Consent, NOTHING_SAID, type Verdict, choicesOf, choose, inWordsOf, isChosen, verdictsOf } from "../src/pipeline/consent";
import { type DiffRow, diffLines, folded } from "../src/pipeline/diff";

/** Each row as `1a|1b`: what stands on either side, in brackets what is marked. */
function drawn(rows: readonly DiffRow[]): string[] {
  const side = (each: DiffRow["before"], isSame: boolean) =>
    each === null ? "" : `${each.number}:${isSame ? each.text : `${each.text.slice(0, each.from)}[${each.text.slice(each.from, each.to)}]${each.text.slice(each.to)}`}`;
  return rows.map((row) => `${side(row.before, row.isSame)}|${side(row.after, row.isSame)}`);
}

test("lines that are the same stand beside each other, and what is other is marked", () => {
  expect(drawn(diffLines("SELECT a\nFROM x\nWHERE 1\n", "SELECT a, b\nFROM x\nGROUP BY 1\nWHERE 1\n"))).toEqual([
    "1:SELECT a[]|1:SELECT a[, b]",
    "2:FROM x|2:FROM x",
    "|3:[GROUP BY 1]",
    "3:WHERE 1|4:WHERE 1",
  ]);
});

test("nothing before, nothing after, and the same are told apart", () => {
  expect(drawn(diffLines("", "a"))).toEqual(["1:[]|1:[a]"]);
  expect(drawn(diffLines("a\nb", "b"))).toEqual(["1:[a]|", "2:b|1:b"]);
  expect(diffLines("a\nb\n", "a\nb").every((row) => row.isSame)).toBe(true);
});

test("no sign is cut into halves", () => {
  const [row] = diffLines("x🙂y", "x🙃y");
  expect(row!.before!.text.slice(row!.before!.from, row!.before!.to)).toBe("🙂");
});

test.each([1, 2, 3, 4, 5, 6, 7, 8])("both texts can be read from the rows again (%i)", (seed) => {
  let state = seed;
  const random = (below: number) => (state = (state * 48271) % 2147483647) % below;
  for (let round = 0; round < 200; round += 1) {
    const old = Array.from({ length: 1 + random(12) }, () => `line ${random(5)}`);
    const young = old.flatMap((line) => (random(4) === 0 ? [] : random(4) === 0 ? [`new ${random(3)}`, line] : [line]));
    if (young.length === 0) young.push("x");
    const rows = diffLines(old.join("\n"), young.join("\n"));
    expect(rows.flatMap((row) => row.before?.text ?? [])).toEqual(old);
    expect(rows.flatMap((row) => row.after?.text ?? [])).toEqual(young);
    expect(rows.filter((row) => row.isSame).every((row) => row.before!.text === row.after!.text)).toBe(true);
    const hidden = folded(rows).reduce((sum, row) => sum + ("hidden" in row ? row.hidden : 1), 0);
    expect(hidden).toBe(rows.length);
  }
});

test("a text of a hundred thousand other lines is compared at once", () => {
  const many = (word: string) => Array.from({ length: 100_000 }, (_, at) => `${word} ${at}`).join("\n");
  const began = performance.now();
  expect(diffLines(many("a"), many("b"))).toHaveLength(100_000);
  expect(performance.now() - began).toBeLessThan(5_000);
});

test("what is far from a change is folded", () => {
  const old = Array.from({ length: 30 }, (_, at) => `${at}`);
  const young = old.with(15, "x");
  expect(folded(diffLines(old.join("\n"), young.join("\n"))).map((row) => ("hidden" in row ? row.hidden : "row"))).toEqual([12, ...Array(7).fill("row"), 11]);
});

function verdict(name: string, change: string, reason = "", shown = ""): Verdict {
  return { subject: "operator", name, change, reason, shown, loses: false, rows: null, bytes: null };
}

test("what a reason names can be said where the thing stands", () => {
  const verdicts = [
    verdict("tumble-77", "REFUSED", "its rows have changed: --reset tumble-77 gives up its state, --keep-state tumble-77 keeps it"),
    verdict("my table", "REFUSED", "it is not read any more: --reset my table gives up how far it was read"),
    verdict("join-1", "REFUSED", "begins in the middle: --reset tumble-771, as well"),
    verdict("hop-5", "STATE_MIGRATED", "+ sum(n)", "windows that are open show NULL for sum(n)"),
  ];
  const { at, others } = choicesOf(verdicts, { ...NOTHING_SAID, reset: ["gone"] });

  expect(at).toEqual([
    [
      { way: "reset", name: "tumble-77" },
      { way: "keep_state", name: "tumble-77" },
    ],
    [{ way: "reset", name: "my table" }],
    [{ way: "reset", name: "tumble-771" }],
    [{ way: "hold_back", name: "hop-5" }],
  ]);
  expect(others).toEqual([{ way: "reset", name: "gone" }]);
});

test("a reason names the boxes of the page, where it named options of the command line", () => {
  const reasons = [
    "its rows have changed: --keep-state tumble-77 lets them stay, --reset tumble-77 gives up its state",
    "begins in the middle: --reset tumble-771, my table as well",
    "sum(n) is not known, unless --hold-back hop-5 leaves out the windows that are open",
  ];
  const verdicts = reasons.map((reason, at) => verdict(["tumble-77", "tumble-771", "hop-5"][at]!, "REFUSED", reason));
  const choices = choicesOf(verdicts, NOTHING_SAID);

  expect(reasons.map((reason) => inWordsOf(choices, reason))).toEqual([
    "its rows have changed: “Keep the state of tumble-77” lets them stay, “Discard the state of tumble-77” gives up its state",
    "begins in the middle: “Discard the state of tumble-771”, my table as well",
    "sum(n) is not known, unless “Suppress the open windows of hop-5” leaves out the windows that are open",
  ]);
});

test("who says something else has accepted no plan", () => {
  const accepted: Consent = { ...NOTHING_SAID, accept_loss: "88aa" };
  const said = choose(accepted, { way: "reset", name: "a" }, true);

  expect(said).toEqual({ reset: ["a"], keep_state: [], hold_back: [], accept_loss: null });
  expect(isChosen(said, { way: "reset", name: "a" })).toBe(true);
  expect(choose(said, { way: "reset", name: "a" }, false).reset).toEqual([]);
});

test.each([{}, { verdicts: null }, { verdicts: "x" }])("a plan without verdicts (%j) has none", (plan) => {
  expect(verdictsOf({ plan } as unknown as UpgradePlan)).toEqual([]);
});
