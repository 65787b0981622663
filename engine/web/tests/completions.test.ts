import { EditorState } from "@codemirror/state";
import { expect, test } from "vitest";
import type { Completions } from "../src/api/types";
import { offer } from "../src/editor/completions";

const option = (name: string, ...choices: string[]) => ({ name, description: `about ${name}`, choices });
const ALL: Completions = {
  functions: ["count", "regexp_replace", "row_number"].map((name) => ({ name, usage: `${name}(...)`, description: "" })),
  table_options: [option("connector"), option("format"), option("bad_data", "fail", "drop", "dead_letter"), option("dead_letter.path")],
  connector_options: { kafka: [option("topic"), option("bootstrap_servers")], filesystem: [option("path")], nexmark: [option("event_rate")] },
  connector_formats: { kafka: ["avro", "json"], filesystem: ["json", "parquet"], nexmark: [] },
  format_options: { json: [option("json.unstructured", "true", "false")], avro: [], parquet: [] },
  run_settings: [],
  spark_settings: [],
};

/** What is offered where the script has a `|`: what it takes the place of, and the names. */
function at(script: string, explicit = false): { begun: string; names: string[]; apply: (name: string) => unknown } {
  const pos = script.indexOf("|");
  const doc = script.slice(0, pos) + script.slice(pos + 1);
  const found = offer(ALL)({ state: EditorState.create({ doc }), pos, explicit });
  const options = found?.options ?? [];
  return { begun: doc.slice(found?.from ?? pos, pos), names: options.map(({ label }) => label), apply: (name) => options.find(({ label }) => label === name)?.apply };
}

const SCRIPT = `CREATE TABLE clicks (at TIMESTAMP) WITH (connector = 'kafka', to|);
CREATE VIEW "per hour" AS SELECT count(*) FROM clicks;
create table if not exists totals (n BIGINT) WITH (connector = 'filesystem', format = 'json', type = 'sink');
`;

test("functions, windows and the script's own tables are offered where words stand", () => {
  const { begun, names, apply } = at(`${SCRIPT.replace("|", "")}SELECT cou|`);

  expect(begun).toBe("cou");
  expect(names).toEqual(expect.arrayContaining(["clicks", '"per hour"', "totals", "count", "tumble", "row_number", "regexp_replace"]));
  expect(names).not.toContain("topic");
  expect(apply("count")).toBe("count(");
});

test.each([
  ["the options of the table's connector", SCRIPT, "to", ["topic", "bootstrap_servers", "connector", "bad_data"], ["path", "json.unstructured", "count"]],
  ["those of its format, too", "CREATE TABLE t WITH (connector = 'filesystem', format = 'json', json.|)", "json.", ["json.unstructured", "path"], ["topic"]],
  ["connectors", "CREATE TABLE t WITH (connector = 'ne|", "ne", ["nexmark", "kafka"], ["topic"]],
  ["the formats that the connector's tables may have", "CREATE TABLE t WITH (connector = 'kafka', format = '|')", "", ["avro", "json"], ["parquet"]],
  ["the values of an option", "CREATE TABLE t WITH ('bad_data' = '|', connector = 'kafka')", "", ["fail", "drop", "dead_letter"], ["true"]],
  ["truths", "CREATE TABLE t WITH (format = 'json', 'json.unstructured' = 't|')", "t", ["true", "false"], ["fail"]],
])("between the brackets of a table's options, %s are offered", (_, script, begun, among, without) => {
  const found = at(script);

  expect(found.begun).toBe(begun);
  expect(found.names).toEqual(expect.arrayContaining(among));
  for (const name of without) expect(found.names).not.toContain(name);
});

test.each([
  ["a text", "SELECT 'cou|"],
  ["a comment", "SELECT 1 -- cou|"],
  ["a longer comment", "SELECT 1 /* it's cou|"],
  ["an option that may be anything", "CREATE TABLE t WITH (connector = 'kafka', topic = 'cou|')"],
  ["nothing yet", "SELECT |"],
  ["a list of options where no name begins", "CREATE TABLE t WITH (connector = 'kafka', |"],
])("in %s nothing is offered", (_, script) => {
  expect(at(script).names).toEqual([]);
});

test("who asks for it is offered everything, and behind the brackets words again", () => {
  expect(at("SELECT |", true).names).toContain("count");
  expect(at("CREATE TABLE t WITH (connector = 'kafka', |", true).names).toContain("topic");
  expect(at("CREATE TABLE t WITH (connector = 'kafka'); SELECT cou|").names).toContain("count");
  expect(at("WITH per_hour AS (SELECT cou|").names).toContain("count");
  expect(at("SELECT 'it''s', \"a\" -- don't\n, cou|").names).toContain("count");
});

test("a name with a dot is put into quotes, unless it stands in some", () => {
  expect(at("CREATE TABLE t WITH (connector = 'kafka', dead|").apply("dead_letter.path")).toBe("'dead_letter.path' = '");
  expect(at("CREATE TABLE t WITH (connector = 'kafka', 'dead|").apply("dead_letter.path")).toBe("dead_letter.path' = '");
  expect(at("CREATE TABLE t WITH (connector = 'kafka', to|").apply("topic")).toBe("topic = '");
});
