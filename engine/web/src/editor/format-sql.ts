/** Lays a script out anew: keywords in capitals, a line for each clause. Nothing within quotes or comments changes, and
 * neither does the order of the words. */

const TOKEN = /--[^\n]*|\/\*[^]*?\*\/|E?'(?:[^']|'')*'|"(?:[^"]|"")*"|[A-Za-z_]\w*|\d+(?:\.\d+)?|<=|>=|<>|!=|::|\|\||->>?|\s+|[^]/g;
/** Words that no column can be called without quotes: the case of others may matter. */
const KEYWORDS = new Set(
  "select from where group by order having join left right inner full outer cross on as and or not in is null case when then else create table with insert into union all distinct between limit desc asc cast true false".split(" "),
);
/** What begins a line at the depth of its statement. */
const CLAUSES = new Set(["select", "from", "where", "group", "order", "having", "limit", "union", "insert", "create"]);
const JOINS = new Set(["join", "left", "right", "inner", "full", "cross"]);
const WIDE = 96;

export function formatSql(script: string): string {
  const tokens = (script.match(TOKEN) ?? []).filter((token) => !/^\s+$/.test(token) || /\n\s*\n/.test(token));
  let text = "";
  let depth = 0;
  let before = "";
  const brackets: boolean[] = []; // whether each open bracket has a query in it
  const line = (indent: number) => {
    text = `${text.trimEnd()}${text.trim() === "" ? "" : "\n"}${"  ".repeat(indent)}`;
  };
  tokens.forEach((token, at) => {
    const word = token.toLowerCase();
    const next = tokens.slice(at + 1).find((each) => !/^\s/.test(each))?.toLowerCase() ?? "";
    if (/^\s/.test(token)) {
      if (before === ";" || before.startsWith("--")) text = `${text.trimEnd()}\n\n`;
      return;
    }
    const isJoin = JOINS.has(word) && !JOINS.has(before) && before !== "outer" && next !== "(";
    if (CLAUSES.has(word) && before !== "(" && before !== "" && before !== "distinct" && !(word === "from" && brackets.at(-1) === false)) line(depth);
    else if (CLAUSES.has(word) && before === "(" && word === "select") line(depth);
    else if (isJoin) line(depth);
    if (token === ")") {
      const isQuery = brackets.pop() ?? false;
      if (isQuery) {
        depth -= 1;
        line(depth);
      }
    }
    text += `${needsSpace(before, token, text) ? " " : ""}${KEYWORDS.has(word) && before !== "." ? token.toUpperCase() : token}`;
    if (token === "(") {
      brackets.push(next === "select");
      if (next === "select") depth += 1;
    }
    if (token.startsWith("--")) line(depth);
    if (token === ";") text += "\n";
    before = word;
  });
  return `${text
    .split("\n")
    .flatMap(wrapped)
    .join("\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim()}\n`;
}

function needsSpace(before: string, token: string, text: string): boolean {
  if (text === "" || /\s$/.test(text)) return false;
  if (/^[,;).]$/.test(token) || token === "::" || token === "[" || token === "]") return false;
  if (/^[(.]$/.test(before) || before === "::" || before === "[") return false;
  if (token === "(") return KEYWORDS.has(before) || !/^[\w"]/.test(before);
  return true;
}

/** A line that is too long is cut at the commas and the ANDs outside of its brackets and quotes. */
function wrapped(line: string): string[] {
  if (line.length <= WIDE || line.trimStart().startsWith("--") || line.includes("/*")) return [line];
  const indent = `${/^\s*/.exec(line)![0]}  `;
  const pieces = [""];
  let depth = 0;
  for (const token of line.match(TOKEN) ?? []) {
    if (token.startsWith("--")) return [line];
    if (token === "(") depth += 1;
    if (token === ")") depth -= 1;
    if (token === "AND" && depth === 0) pieces.push("");
    pieces[pieces.length - 1] += token;
    if (token === "," && depth === 0) pieces.push("");
  }
  return pieces.map((piece, at) => (at === 0 ? piece.trimEnd() : `${indent}${piece.trim()}`)).filter((piece) => piece.trim() !== "");
}
