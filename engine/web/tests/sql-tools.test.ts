import { EditorState } from "@codemirror/state";
import { expect, test } from "vitest";
import type { Completions } from "../src/api/types";
import { EXAMPLES } from "../src/examples";
import { functionAt, offer } from "../src/editor/completions";
import { columnsOf, tablesIn } from "../src/editor/columns";
import { KEYWORDS } from "../src/editor/dialect";
import { formatSql } from "../src/editor/format-sql";

const ALL = { functions: [{ name: "count", usage: "count(x)", description: "How many rows there are." }], table_options: [], connector_options: {}, connector_formats: {}, format_options: {}, run_settings: [], spark_settings: [] } as Completions;
const TABLES = `CREATE TABLE orders (id BIGINT NOT NULL, "the city" TEXT, total DECIMAL(10, 2), WATERMARK FOR at) WITH (connector = 'kafka');
CREATE TABLE bids WITH (connector = 'nexmark', event_rate = 5);
CREATE VIEW large AS SELECT id, o.total AS sum_of, upper(city) FROM orders o;
-- CREATE TABLE not_there (x INT);
`;

function names(script: string): string[] {
  const pos = script.indexOf("|");
  const doc = script.replace("|", "");
  return offer(ALL, { stored: ["key", "value"] })({ state: EditorState.create({ doc }), pos, explicit: false })?.options.map(({ label }) => label) ?? [];
}

test("the columns of each table are those that are written down", () => {
  expect(tablesIn(TABLES)).toEqual([
    { name: "orders", columns: ["id", "the city", "total"] },
    { name: "bids", columns: ["person", "auction", "bid"] },
    { name: "large", columns: ["id", "sum_of"] },
  ]);
});

test.each([
  ["SELECT orders.| FROM orders", ["id", "the city", "total"]],
  ["SELECT o.to| FROM orders AS o JOIN large l ON o.id = l.id", ["id", "the city", "total"]],
  ["SELECT l.| FROM orders o JOIN large l ON true", ["id", "sum_of"]],
  ["SELECT s.| FROM stored s", ["key", "value"]],
  ["SELECT x.| FROM orders", []],
  ["SELECT 'o.|' FROM orders o", []],
])("behind the dot in %s the columns of that table are offered", (statement, columns) => {
  expect(names(TABLES + statement)).toEqual(columns);
});

test("in SELECT the columns of the tables that are read come first", () => {
  const found = names(`${TABLES}SELECT i| FROM orders o`);

  expect(found.slice(0, 3)).toEqual(["id", "the city", "total"]);
  expect(found).toContain("count");
  expect(names(`${TABLES}SELECT i| FROM large; SELECT 1 FROM orders`).slice(0, 2)).toEqual(["id", "sum_of"]);
});

test("an alias is that of its own statement", () => {
  const script = `${TABLES}SELECT 1 FROM large o; SELECT o. FROM orders o`;
  expect(columnsOf(script, script.lastIndexOf("o. ") + 2, "o", tablesIn(script))).toEqual(["id", "the city", "total"]);
});

test("words of Postgres that the engine has no use for are not offered", () => {
  const words = KEYWORDS.split(" ");
  for (const noise of ["abort", "tablespace", "vacuum", "grant", "cursor", "serializable"]) expect(words).not.toContain(noise);
  for (const used of ["select", "watermark", "interval", "insert"]) expect(words).toContain(used);
});

test("a function below the pointer is explained, also a window, and what is no function is not", () => {
  const script = "SELECT count(id), tumble(INTERVAL '1 s'), total, 'count(' FROM t";
  const at = (text: string) => functionAt(ALL, script, script.indexOf(text) + 2);

  expect(at("count(id")).toEqual({ from: 7, to: 12, usage: "count(x)", about: "How many rows there are." });
  expect(at("tumble")!.usage).toBe("tumble(width)");
  expect(at("total")).toBe(null);
  expect(at("'count")).toBe(null);
});

test("a script is laid out with a line for each clause", () => {
  expect(formatSql("insert into out select a.id,count( * ) as n from (select id from t where x>1 and y = 'from  here') a left join b on a.id=b.id group by a.id;")).toBe(
    `INSERT INTO out
SELECT a.id, count(*) AS n
FROM (
  SELECT id
  FROM t
  WHERE x > 1 AND y = 'from  here'
) a
LEFT JOIN b ON a.id = b.id
GROUP BY a.id;
`,
  );
});

const words = (text: string) => text.replace(/--[^\n]*|'(?:[^']|'')*'|\s+/g, (token) => (/^\s/.test(token) ? "" : token)).toLowerCase();
test.each(EXAMPLES.map(({ name, query }) => [name, query] as const))("the layout of %s changes no word, and is the same when it is laid out again", (_, script) => {
  const laidOut = formatSql(script);

  expect(words(laidOut)).toBe(words(script));
  expect(formatSql(laidOut)).toBe(laidOut);
});

test.each(["", "SELECT '", "/* open", "a -- b\nc", "SELECT 1;;\n\n;", "((((", "SELECT E'it\\'s' FROM \"a b\"", "SELECT -1, a->>'x', b::int, x[1], 1e3, left(a, 2) FROM t -- end"])(
  "whatever is written, no word of %j is lost",
  (script) => {
    expect(words(formatSql(script))).toBe(words(script));
  },
);
