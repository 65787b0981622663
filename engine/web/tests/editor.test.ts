import { expect, test } from "vitest";
import { placeOf } from "../src/editor/places";
import { spelled } from "../src/parts/row-table";

const TEXT = "SELECT a.b,\n  'x y', c\nFROM t";

test.each([
  [1, 8, "a.b"],
  [2, 3, "'x y'"],
  [2, 10, "c"],
  [3, 6, "t"],
  [1, 99, ""],
  [9, 1, ""],
  [1, 0, "SELECT"],
])("a complaint at %i:%i is about %j", (line, column, word) => {
  const { from, to } = placeOf(TEXT, { line, column });

  expect(TEXT.slice(from, to)).toBe(word);
});

test("every value of a row is text", () => {
  expect([null, undefined, 0, false, "", { a: [1] }].map(spelled)).toEqual(["null", "null", "0", "false", "", '{"a":[1]}']);
});
