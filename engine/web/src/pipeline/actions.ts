/** What can be done with a pipeline, and the requests that do it. Each can be asked first what it would do. */
import { ask, part } from "../api/client";
import type { Effects, Pipeline, Savepoint } from "../api/types";
import { apart } from "../format";
import { readTags, tagTexts } from "../jobs/tags";
import type { Consent } from "./consent";

export interface Field {
  name: string;
  label: string;
  kind: "choice" | "number" | "text" | "check";
  choices?: readonly [string, string][];
  value: string;
  /** May stay empty. */
  isOptional?: boolean;
  /** Of a box: whether it must be checked before the action can be confirmed. */
  isRequired?: boolean;
}

export interface Action {
  name: string;
  /** The name of the pipeline that it is done to. */
  pipeline: string;
  /** Why it cannot be chosen now; then its button is disabled. */
  unavailable?: string;
  /** Whether its pipeline is at rest, and has no job that would keep running. */
  isAtRest?: boolean;
  /** Why these values would change nothing. */
  noChange?: (values: Values) => string | null;
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
  ["checkpoint", "After the current epoch"],
  ["graceful", "After all rows in flight are written"],
  ["immediate", "Immediately; the current epoch is re-run on restart"],
  ["force", "Kill the process"],
];

/** Why there is nothing to save or fork of a pipeline that has committed no epoch; null once it has. */
export function whyNothingToSave(epoch: number | null | undefined): string | null {
  return epoch === null || epoch === undefined ? "No epoch has been committed yet, so there is no state to save." : null;
}

/** The actions on a pipeline whose newest committed epoch is `epoch`. */
export function actionsOf(pipeline: Pipeline, savepoints: readonly Savepoint[], epoch: number | null = null): Action[] {
  const common = { pipeline: pipeline.name, isAtRest: isAtRest(pipeline) };
  const nothing = whyNothingToSave(epoch);
  return listOf(pipeline, savepoints).map((action) => ({ ...action, ...common, ...(action.name === "Savepoint" && nothing !== null ? { unavailable: nothing } : {}) }));
}

/** The action that restores one savepoint of a pipeline, or one that is chosen of them. */
export function restoreOf(pipeline: Pipeline, savepoints: readonly Savepoint[]): Action {
  const post = (body: unknown, dry_run: boolean) => ask<unknown>("POST", `/pipelines/${part(pipeline.name)}/restore`, { body, query: { dry_run } });
  return {
    name: "Restore",
    pipeline: pipeline.name,
    isAtRest: isAtRest(pipeline),
    title: "Restore a savepoint",
    about: "Output written since then is removed where the sink supports it.",
    confirm: "Restore",
    isDangerous: true,
    fields: [
      { name: "savepoint_id", label: "Savepoint", kind: "choice", choices: savepoints.map(({ id, label, epoch }) => [id, `${apart(label ?? id)}, epoch ${epoch ?? "–"}`]), value: savepoints[0]?.id ?? "" },
      { name: "allow_replay", label: "Allow output to be written again", kind: "check", value: "" },
      { name: "with_version", label: "Also restore the query of that savepoint", kind: "check", value: "" },
    ],
    send: ({ savepoint_id, allow_replay, with_version }, isDryRun) => post({ savepoint_id, allow_replay: allow_replay === "yes", with_version: with_version === "yes" }, isDryRun),
  };
}

/** The action that sets the tags of a pipeline. */
export function tagsAction(pipeline: Pipeline): Action {
  return {
    name: "Edit tags",
    pipeline: pipeline.name,
    isAtRest: isAtRest(pipeline),
    title: "Edit tags",
    about: "Tags group pipelines in the list. Changing them does not restart the job.",
    confirm: "Save tags",
    fields: [{ name: "tags", label: "Tags, such as team=sales critical", kind: "text", value: tagTexts(pipeline.tags).join(" ") }],
    send: ({ tags = "" }, dry_run) => ask("PATCH", `/pipelines/${part(pipeline.name)}`, { body: { tags: readTags(tags) }, query: { dry_run } }),
  };
}

function isAtRest({ state }: Pick<Pipeline, "state">): boolean {
  return state === "Stopped" || state === "Failed" || state === "Finished";
}

type Bare = Omit<Action, "pipeline" | "isAtRest">;

function listOf(pipeline: Pipeline, savepoints: readonly Savepoint[]): Bare[] {
  const path = `/pipelines/${part(pipeline.name)}`;
  const isResting = isAtRest(pipeline);
  const change = (body: unknown, dry_run: boolean) => ask<unknown>("PATCH", path, { body, query: { dry_run } });
  const post = (way: string, body: unknown, dry_run: boolean) => ask<unknown>("POST", `${path}/${way}`, { body, query: { dry_run } });
  const back = savepoints.filter(({ state }) => state === "completed");
  const stop: Bare = {
    name: "Stop",
    title: "Stop the pipeline",
    about: "Its state is kept. Start resumes from there.",
    confirm: "Stop",
    fields: [{ name: "stop", label: "When", kind: "choice", choices: STOP_MODES, value: "checkpoint" }],
    send: ({ stop: mode }, isDryRun) => change({ stop: mode }, isDryRun),
  };
  const start: Bare = {
    name: "Start",
    title: "Start the pipeline",
    about: "It resumes from its last checkpoint.",
    confirm: "Start",
    fields: [],
    send: (_, isDryRun) => (pipeline.state === "Failed" ? post("restart", {}, isDryRun) : change({ stop: "none" }, isDryRun)),
  };
  return [
    isResting ? start : stop,
    {
      name: "Savepoint",
      title: "Take a savepoint",
      about: "A copy of the newest checkpoint that you can restore or fork later.",
      confirm: "Take savepoint",
      fields: [{ name: "label", label: "Label (optional)", kind: "text", value: "" }],
      send: ({ label }, isDryRun) => post("savepoints", label ? { label } : {}, isDryRun),
    },
    {
      name: "Rescale",
      title: "Change the parallelism",
      about: isResting ? "The state is redistributed at the next start." : "Stops the job, redistributes its state and starts it again.",
      confirm: "Rescale",
      noChange: ({ parallelism }) => (Number(parallelism) === pipeline.parallelism ? `The parallelism is ${pipeline.parallelism} already. Enter another number.` : null),
      fields: [{ name: "parallelism", label: "Parallelism", kind: "number", value: String(pipeline.parallelism) }],
      send: ({ parallelism }, isDryRun) => change({ parallelism: Number(parallelism) }, isDryRun),
    },
    ...(back.length === 0 ? [] : [restoreOf(pipeline, back)]),
    ...(pipeline.version < 2
      ? []
      : [
          {
            name: "Roll back",
            title: "Roll back to an earlier version",
            about: "Restores the state of that version. A savepoint of the current state is taken first.",
            confirm: "Roll back",
            isDangerous: true,
            fields: [{ name: "to", label: "Version", kind: "number", value: String(pipeline.version - 1) }],
            send: ({ to }, isDryRun) => post("rollback", { to: Number(to) }, isDryRun),
          } satisfies Bare,
        ]),
    {
      name: "Delete",
      title: "Delete the pipeline",
      about: "Deletes its state and logs. Its output is kept.",
      confirm: "Delete",
      isDangerous: true,
      fields: [{ name: "with_savepoints", label: "Delete its savepoints too", kind: "check", value: "" }],
      send: ({ with_savepoints }, dry_run) => ask("DELETE", path, { query: { dry_run, with_savepoints: with_savepoints === "yes" } }),
    },
  ];
}

/** What is wrong with what was written into the fields of an action; null where it can be asked for. */
export function faultOf({ fields }: Pick<Action, "fields">, values: Values): string | null {
  const isWrong = (text: string, isOptional: boolean) => !/^[1-9][0-9]{0,8}$/.test(text) && !(isOptional && text === "");
  const wrong = fields.find(({ name, kind, isOptional = false }) => kind === "number" && isWrong((values[name] ?? "").trim(), isOptional));
  return wrong ? `Enter a whole number of at least 1 for “${wrong.label}”.` : null;
}

/** Whether every box is checked that must be. */
export function isConfirmed({ fields }: Pick<Action, "fields">, values: Values): boolean {
  return fields.every(({ name, isRequired = false }) => !isRequired || values[name] === "yes");
}

/** What a dry run has said, a line each: what is to be minded comes first. */
export function spell(effects: Effects, length: (micros: number) => string, isAtRest = false): { text: string; items: string[]; isBad: boolean }[] {
  const lines: { text: string; items: string[]; isBad: boolean }[] = [
    { text: "Lost", items: effects.lost, isBad: true },
    { text: "Invalidated", items: effects.voided, isBad: true },
    { text: "Repeated", items: effects.repeated, isBad: true },
    { text: "Kept", items: effects.kept, isBad: false },
  ];
  const happens = [effects.stops ? "The job will stop." : "", effects.starts ? "A new run starts." : ""].filter(Boolean);
  if (effects.pause_micros !== null) happens.push(`Processing pauses for about ${length(effects.pause_micros)}.`);
  if (effects.rollback) happens.push(`Restores version ${effects.rollback.version}.`);
  lines.push({ text: "Effects", items: happens.length > 0 ? happens : [isAtRest ? "The job stays stopped." : "The job keeps running."], isBad: false });
  return lines.filter(({ items }) => items.length > 0);
}
