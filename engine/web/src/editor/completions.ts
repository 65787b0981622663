/** What is offered while a script is typed, beside the words of SQL: functions, the script's tables, and options. */
import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import type { Completions, OptionName } from "../api/types";
import { columnsInReach, columnsOf, tablesIn } from "./columns";

type Place = Pick<CompletionContext, "state" | "pos" | "explicit">;

/** Windows stand where functions do. */
const WINDOWS: readonly Completion[] = [
  called("tumble", "tumble(width)", "Windows of that width, back to back."),
  called("hop", "hop(slide, width)", "Windows of that width, one starting after each slide."),
  called("session", "session(gap)", "Windows that end after a gap without rows."),
];

/** What fits at a place of a script, of all that one may say; null where only the words of SQL do. */
export function offer(all: Completions, stored: Readonly<Record<string, readonly string[]>> = {}): (place: Place) => CompletionResult | null {
  const functions = [...all.functions.map(({ name, usage, description }) => called(name, usage, description)), ...WINDOWS];
  return ({ state, pos, explicit }) => {
    const text = state.doc.toString();
    const before = text.slice(0, pos);
    const body = optionsAround(text, pos);
    if (body !== null) return offeredOptions(all, before, body, explicit);
    const dotted = /(?:^|[^\w."])("(?:[^"]|"")+"|[A-Za-z_]\w*)\.(\w*)$/.exec(before);
    if (dotted !== null && !isInText(before)) return offeredColumns(text, pos, dotted[1]!, dotted[2]!, stored);
    const word = /[A-Za-z_]\w*$/.exec(before)?.[0] ?? "";
    if ((word === "" && !explicit) || isInText(before)) return null;
    return { from: pos - word.length, options: [...columnsHere(text, pos, stored), ...tablesOf(text, stored), ...functions], validFor: /^\w*$/ };
  };
}

function called(label: string, usage: string, info: string): Completion {
  return { label, detail: usage.slice(label.length), info, type: "function", apply: `${label}(` };
}

/** The columns of the table before a dot. */
function offeredColumns(text: string, pos: number, table: string, begun: string, stored: Readonly<Record<string, readonly string[]>>): CompletionResult | null {
  const columns = columnsOf(text, pos, table, tablesIn(text, stored));
  return columns.length === 0 ? null : { from: pos - begun.length, options: columns.map(asColumn), validFor: /^\w*$/ };
}

/** The columns of the tables that the statement around a place reads. */
function columnsHere(text: string, pos: number, stored: Readonly<Record<string, readonly string[]>>): Completion[] {
  return columnsInReach(text, pos, tablesIn(text, stored)).map((column) => ({ ...asColumn(column), boost: 3 }));
}

function asColumn(label: string): Completion {
  return { label, type: "property", detail: "column", ...(/^[a-z_]\w*$/.test(label) ? {} : { apply: `"${label.replaceAll('"', '""')}"` }) };
}

/** What a function is for, for the place where its name is written; null where no function is. */
export function functionAt(all: Completions, text: string, at: number): { from: number; to: number; usage: string; about: string } | null {
  const from = at - (/\w*$/.exec(text.slice(0, at))?.[0].length ?? 0);
  const name = /^[A-Za-z_]\w*(?=\s*\()/.exec(text.slice(from))?.[0];
  if (name === undefined || isInText(text.slice(0, from))) return null;
  const found = all.functions.find((each) => each.name.toLowerCase() === name.toLowerCase());
  const window = WINDOWS.find(({ label }) => label === name.toLowerCase());
  if (found) return { from, to: from + name.length, usage: found.usage, about: found.description };
  return window ? { from, to: from + name.length, usage: `${window.label}${window.detail}`, about: String(window.info) } : null;
}

/** The tables that are stored for all pipelines, and the tables and views that the script itself makes. */
export function tablesOf(text: string, stored: Readonly<Record<string, readonly string[]>> = {}): Completion[] {
  const kept = Object.keys(stored).map((label): Completion => ({ label, detail: "stored table", type: "class", boost: 1 }));
  return [...kept, ...madeIn(text)];
}

function madeIn(text: string): Completion[] {
  const made = text.matchAll(/\bCREATE\s+(?:TEMPORARY\s+)?(TABLE|VIEW)\s+(?:IF\s+NOT\s+EXISTS\s+)?("(?:[^"]|"")+"|\w+)/gi);
  return [...new Map([...made].map(([, kind, name]) => [name!, kind!.toLowerCase()]))].map(([label, detail]) => ({ label, detail, type: "class", boost: 2 }));
}

interface Body {
  /** Where it begins, behind its bracket. */
  from: number;
  text: string;
}

/** The options of a table between whose brackets a place is. */
export function optionsAround(text: string, at: number): Body | null {
  const open = [...text.slice(0, at).matchAll(/\bWITH\s*\(/gi)].at(-1);
  if (open === undefined) return null;
  const from = open.index + open[0].length;
  const whole = /^(?:'(?:[^']|'')*(?:'|$)|[^')(;]|\([^)]*\))*/.exec(text.slice(from))![0];
  return at <= from + whole.length && !/^\s*(?:SELECT|VALUES)\b/i.test(whole) ? { from, text: whole } : null;
}

function offeredOptions(all: Completions, before: string, body: Body, isAskedFor: boolean): CompletionResult | null {
  const said = before.slice(body.from);
  const value = /(?:^|,)\s*'?([\w.]+)'?\s*=\s*'([^']*)$/.exec(said);
  if (value !== null) {
    const choices = choicesOf(all, body.text, value[1]!);
    return choices.length === 0 ? null : { from: before.length - value[2]!.length, options: choices.map((label) => ({ label, type: "constant" })), validFor: /^\w*$/ };
  }
  const name = /(?:^|,)\s*'?([\w.]*)$/.exec(said)?.[1];
  if (name === undefined || (name === "" && !isAskedFor)) return null;
  const isQuoted = said.at(-name.length - 1) === "'";
  const options = optionsOf(all, body.text).map(({ name: label, description: info }): Completion => ({ label, info, type: "property", apply: isQuoted ? `${label}' = '` : `${spelled(label)} = '` }));
  return { from: before.length - name.length, options, validFor: /^[\w.]*$/ };
}

/** What may be said of a table, going by what is said of it already. */
function optionsOf(all: Completions, body: string): OptionName[] {
  return [...all.table_options, ...(all.connector_options[said(body, "connector")] ?? []), ...(all.format_options[said(body, "format")] ?? [])];
}

function choicesOf(all: Completions, body: string, option: string): string[] {
  if (option === "connector") return Object.keys(all.connector_options);
  if (option === "format") return all.connector_formats[said(body, "connector")] ?? Object.keys(all.format_options);
  return optionsOf(all, body).find(({ name }) => name === option)?.choices ?? [];
}

function said(body: string, option: "connector" | "format"): string {
  return new RegExp(`(?:^|,)\\s*'?${option}'?\\s*=\\s*'([^']*)'`).exec(body)?.[1] ?? "";
}

/** A name with a dot stands in quotes. */
function spelled(name: string): string {
  return name.includes(".") ? `'${name}'` : name;
}

/** Whether a text or a comment is open where this ends. */
function isInText(before: string): boolean {
  const rest = before.replace(/'(?:[^']|'')*'|"[^"]*"|--[^\n]*\n|\/\*[^]*?\*\//g, "");
  return /['"]|--|\/\*/.test(rest);
}
