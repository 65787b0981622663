/** What can be done with a pipeline, and the requests that do it. Each can be asked first what it would do. */
import { ask, part } from "../api/client";
import type { Effects, Pipeline, Savepoint } from "../api/types";
import { apart } from "../format";
import type { Consent } from "./consent";

export interface Field {
  name: string;
  label: string;
  kind: "choice" | "number" | "text" | "check";
  choices?: readonly [string, string][];
  value: string;
  /** May stay empty. */
  isOptional?: boolean;
}

export interface Action {
  name: string;
  title: string;
  about: string;
  confirm: string;
  isDangerous?: boolean;
  fields: readonly Field[];
  /** Another script in the place of one, which may lose something that has to be accepted. */
  change?: Change;
  send: (values: Values, isDryRun: boolean, consent: Consent) => Promise<unknown>;
}

export interface Change {
  /** Asked for once there is a state that the script is to take over. */
  before: () => Promise<string>;
  after: string;
}

export type Values = Record<string, string>;

const STOP_MODES: readonly [string, string][] = [
  ["checkpoint", "After the epoch that is being made"],
  ["graceful", "Once what was read is in the output"],
  ["immediate", "At once; the epoch that is being made is made again at the next start"],
  ["force", "Kill the process"],
];

export function actionsOf(pipeline: Pipeline, savepoints: readonly Savepoint[]): Action[] {
  const path = `/pipelines/${part(pipeline.name)}`;
  const isAtRest = pipeline.state === "Stopped" || pipeline.state === "Failed" || pipeline.state === "Finished";
  const change = (body: unknown, dry_run: boolean) => ask<unknown>("PATCH", path, { body, query: { dry_run } });
  const post = (way: string, body: unknown, dry_run: boolean) => ask<unknown>("POST", `${path}/${way}`, { body, query: { dry_run } });
  const back = savepoints.filter(({ state }) => state === "completed");
  const stop: Action = {
    name: "Stop",
    title: "Stop the pipeline",
    about: "Its state is kept, and it can go on from there.",
    confirm: "Stop",
    fields: [{ name: "stop", label: "When", kind: "choice", choices: STOP_MODES, value: "checkpoint" }],
    send: ({ stop: mode }, isDryRun) => change({ stop: mode }, isDryRun),
  };
  const start: Action = {
    name: "Start",
    title: "Start the pipeline",
    about: "It goes on from its last checkpoint.",
    confirm: "Start",
    fields: [],
    send: (_, isDryRun) => (pipeline.state === "Failed" ? post("restart", {}, isDryRun) : change({ stop: "none" }, isDryRun)),
  };
  return [
    isAtRest ? start : stop,
    {
      name: "Savepoint",
      title: "Take a savepoint",
      about: "A copy of the newest checkpoint, to come back to.",
      confirm: "Take it",
      fields: [{ name: "label", label: "What to call it", kind: "text", value: "" }],
      send: ({ label }, isDryRun) => post("savepoints", label ? { label } : {}, isDryRun),
    },
    {
      name: "Rescale",
      title: "Change how many tasks work side by side",
      about: "The job stops, its state is laid out anew, and it goes on.",
      confirm: "Rescale",
      fields: [{ name: "parallelism", label: "Tasks", kind: "number", value: String(pipeline.parallelism) }],
      send: ({ parallelism }, isDryRun) => change({ parallelism: Number(parallelism) }, isDryRun),
    },
    ...(back.length === 0
      ? []
      : [
          {
            name: "Restore",
            title: "Go back to a savepoint",
            about: "What was written since then is taken back where a sink can do that.",
            confirm: "Restore",
            isDangerous: true,
            fields: [
              { name: "savepoint_id", label: "Savepoint", kind: "choice", choices: back.map(({ id, label, epoch }) => [id, `${apart(label ?? id)}, epoch ${epoch ?? "–"}`]), value: back[0]?.id ?? "" },
              { name: "allow_replay", label: "Output may be written again", kind: "check", value: "" },
              { name: "with_version", label: "The query of that time comes back, too", kind: "check", value: "" },
            ],
            send: ({ savepoint_id, allow_replay, with_version }, isDryRun) =>
              post("restore", { savepoint_id, allow_replay: allow_replay === "yes", with_version: with_version === "yes" }, isDryRun),
          } satisfies Action,
        ]),
    ...(pipeline.version < 2
      ? []
      : [
          {
            name: "Roll back",
            title: "Go back to an earlier version",
            about: "With the state that it was left in. The state that is there is saved before.",
            confirm: "Roll back",
            isDangerous: true,
            fields: [{ name: "to", label: "Version", kind: "number", value: String(pipeline.version - 1) }],
            send: ({ to }, isDryRun) => post("rollback", { to: Number(to) }, isDryRun),
          } satisfies Action,
        ]),
    {
      name: "Delete",
      title: "Delete the pipeline",
      about: "With its state and its logs. What it has written stays.",
      confirm: "Delete",
      isDangerous: true,
      fields: [{ name: "with_savepoints", label: "Its savepoints, too", kind: "check", value: "" }],
      send: ({ with_savepoints }, dry_run) => ask("DELETE", path, { query: { dry_run, with_savepoints: with_savepoints === "yes" } }),
    },
  ];
}

/** What is wrong with what was written into the fields of an action; null where it can be asked for. */
export function faultOf({ fields }: Pick<Action, "fields">, values: Values): string | null {
  const isWrong = (text: string, isOptional: boolean) => !/^[1-9][0-9]{0,8}$/.test(text) && !(isOptional && text === "");
  const wrong = fields.find(({ name, kind, isOptional = false }) => kind === "number" && isWrong((values[name] ?? "").trim(), isOptional));
  return wrong ? `Write a whole number, 1 or more, for “${wrong.label}”.` : null;
}

/** What a dry run has said, a line each: what is to be minded comes first. */
export function spell(effects: Effects, length: (micros: number) => string): { text: string; items: string[]; isBad: boolean }[] {
  const lines: { text: string; items: string[]; isBad: boolean }[] = [
    { text: "Is lost", items: effects.lost, isBad: true },
    { text: "Holds no more", items: effects.voided, isBad: true },
    { text: "Is done again", items: effects.repeated, isBad: true },
    { text: "Stays", items: effects.kept, isBad: false },
  ];
  const happens = [effects.stops ? "The job that is up ends." : "", effects.starts ? "A run starts." : ""].filter(Boolean);
  if (effects.pause_micros !== null) happens.push(`Nothing is computed for about ${length(effects.pause_micros)} in between.`);
  if (effects.rollback) happens.push(`Version ${effects.rollback.version} comes back.`);
  lines.push({ text: "Happens", items: happens.length > 0 ? happens : ["Nothing starts, and nothing ends."], isBad: false });
  return lines.filter(({ items }) => items.length > 0);
}
