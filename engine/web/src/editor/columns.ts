/** The columns of the tables that a script makes, for completion: what is written, not what the planner infers. */

export interface ScriptTable {
  name: string;
  columns: string[];
}

const NAME = String.raw`(?:"(?:[^"]|"")+"|\w+)`;
/** What begins an entry of CREATE TABLE that is no column. */
const NO_COLUMN = /^(?:WATERMARK|PRIMARY|UNIQUE|CONSTRAINT|FOREIGN|CHECK|PERIOD)\b/i;
/** The columns of the sources that bring their own. */
const OWN_COLUMNS: Readonly<Record<string, readonly string[]>> = { impulse: ["counter", "subtask_index"], nexmark: ["person", "auction", "bid"] };

/** The tables of CREATE TABLE and CREATE VIEW with their columns, as far as they are written down. */
export function tablesIn(text: string, stored: Readonly<Record<string, readonly string[]>> = {}): ScriptTable[] {
  const found = new Map<string, ScriptTable>(Object.entries(stored).map(([name, columns]) => [name.toLowerCase(), { name, columns: [...columns] }]));
  const code = text.replace(/--[^\n]*|\/\*[^]*?\*\//g, (comment) => " ".repeat(comment.length));
  const made = new RegExp(String.raw`\bCREATE\s+(?:TEMPORARY\s+)?(TABLE|VIEW)\s+(?:IF\s+NOT\s+EXISTS\s+)?(${NAME})\s*`, "gi");
  for (const match of code.matchAll(made)) {
    const [whole, kind, name] = match as unknown as [string, string, string];
    const rest = code.slice(match.index + whole.length);
    const columns = kind.toUpperCase() === "VIEW" ? selected(rest) : rest.startsWith("(") ? declared(rest) : ownColumns(rest);
    found.set(bare(name).toLowerCase(), { name: bare(name), columns });
  }
  return [...found.values()];
}

/** The columns of the table that a name or an alias stands for at a place of the script. */
export function columnsOf(text: string, at: number, name: string, tables: readonly ScriptTable[]): string[] {
  const named = (wanted: string) => tables.find((table) => table.name.toLowerCase() === bare(wanted).toLowerCase())?.columns;
  return named(name) ?? named(aliasesIn(statementAt(text, at)).get(bare(name).toLowerCase()) ?? "") ?? [];
}

/** The columns of all tables that the statement around a place reads. */
export function columnsInReach(text: string, at: number, tables: readonly ScriptTable[]): string[] {
  const read = new Set([...aliasesIn(statementAt(text, at)).values()].map((name) => bare(name).toLowerCase()));
  return [...new Set(tables.filter(({ name }) => read.has(name.toLowerCase())).flatMap(({ columns }) => columns))];
}

/** The statement around a place: statements end with a semicolon outside of quotes. */
function statementAt(text: string, at: number): string {
  const ends = [...text.replace(/'(?:[^']|'')*'/g, (quoted) => "x".repeat(quoted.length)).matchAll(/;/g)].map(({ index }) => index);
  const from = ends.filter((end) => end < at).at(-1) ?? -1;
  return text.slice(from + 1, ends.find((end) => end >= at) ?? text.length);
}

const AFTER_TABLE = /^(?:where|group|order|having|on|join|left|right|inner|full|cross|limit|union|window|using|as)$/i;

/** What each name in FROM and JOIN stands for, in lower case. */
function aliasesIn(statement: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const [, table, alias] of statement.matchAll(new RegExp(String.raw`\b(?:FROM|JOIN)\s+(${NAME})(?:\s+(?:AS\s+)?(${NAME}))?`, "gi"))) {
    found.set(bare(table!).toLowerCase(), table!);
    if (alias !== undefined && !AFTER_TABLE.test(alias)) found.set(bare(alias).toLowerCase(), table!);
  }
  return found;
}

function declared(rest: string): string[] {
  return entries(inside(rest))
    .filter((entry) => !NO_COLUMN.test(entry))
    .flatMap((entry) => new RegExp(`^${NAME}`).exec(entry) ?? [])
    .map(bare);
}

/** The names that a SELECT gives to what it yields, as far as they are plain. */
function selected(rest: string): string[] {
  const list = /^(?:AS\s+)?\(?\s*SELECT\s+([^]*?)\bFROM\b/i.exec(rest)?.[1] ?? "";
  return entries(list).flatMap((entry) => new RegExp(String.raw`(?:^|[\s.])(${NAME})$`).exec(entry)?.[1] ?? []).map(bare);
}

function ownColumns(rest: string): string[] {
  const connector = /^WITH\s*\([^;]*?connector'?\s*=\s*'(\w+)'/i.exec(rest)?.[1] ?? "";
  return [...(OWN_COLUMNS[connector] ?? [])];
}

/** What is between a bracket that a text begins with and the one that closes it. */
function inside(text: string): string {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === "(") depth += 1;
    if (text[at] === ")" && --depth === 0) return text.slice(1, at);
  }
  return text.slice(1);
}

/** What is between commas outside of brackets. */
function entries(list: string): string[] {
  const found = [""];
  let depth = 0;
  for (const sign of list) {
    if (sign === "(" || sign === "<") depth += 1;
    if (sign === ")" || sign === ">") depth -= 1;
    if (sign === "," && depth === 0) found.push("");
    else found[found.length - 1] += sign;
  }
  return found.map((entry) => entry.trim()).filter(Boolean);
}

function bare(name: string): string {
  return name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name;
}
