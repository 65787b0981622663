/** Rules of savepoints in words, and what a form makes of them. */
import type { ListedSchedule, RetentionRules } from "../api/types";
import { duration, instant } from "../format";

type Numbers = Partial<Pick<RetentionRules, "keep_last" | "daily" | "weekly" | "max_age_micros">>;

/** What of a pipeline's savepoints is kept. */
export function keptWords({ keep_last, daily, weekly, max_age_micros }: Numbers): string {
  const parts = [keep_last && `the last ${keep_last}`, daily && `one per day for ${daily} days`, weekly && `one per week for ${weekly} weeks`].filter(Boolean);
  const age = max_age_micros ? `none older than ${duration(max_age_micros)}` : "";
  if (parts.length === 0) return age ? `${age} is kept` : "all are kept";
  return `kept: ${[...parts, age].filter(Boolean).join(", ")}`;
}

/** When savepoints are taken. */
export function scheduleWords({ cron, time_zone, blackout = [], drill }: ListedSchedule): string {
  return [`${cron} in ${time_zone}`, ...blackout.map((window) => `not in ${window}`), ...(drill ? ["each tested by a restore"] : [])].join(", ");
}

/** What came of the last instant that was due. */
export function lastWords(last: ListedSchedule["last"]): string {
  if (!last) return "None due yet";
  const words: Record<string, string> = { taking: "in progress", taken: "taken", drilling: "taken, restore test in progress", proven: "taken, restore test passed", left_out: "skipped", failed: "failed" };
  return `Last ${instant(last.at)} ${words[last.state] ?? last.state}${last.reason ? `: ${last.reason}` : ""}`;
}

export interface ScheduleTexts {
  pipeline: string;
  cron: string;
  timeZone: string;
  blackout: string;
  drill: boolean;
  keepLast: string;
}

export function textsOf(schedule: ListedSchedule | null): ScheduleTexts {
  return {
    pipeline: schedule?.pipeline ?? "",
    cron: schedule?.cron ?? "0 2 * * *",
    timeZone: schedule?.time_zone ?? "UTC",
    blackout: (schedule?.blackout ?? []).join("\n"),
    drill: schedule?.drill ?? false,
    keepLast: schedule?.retention.keep_last ? String(schedule.retention.keep_last) : "",
  };
}

/** What is asked for. The rules that the form does not show stay as they are. */
export function bodyOf(texts: ScheduleTexts, before: ListedSchedule | null): object {
  const rules = before?.retention ?? {};
  const keepLast = texts.keepLast.trim() === "" ? null : Number(texts.keepLast);
  const isSame = keepLast === (before?.retention.keep_last ?? null);
  return {
    cron: texts.cron.trim(),
    time_zone: texts.timeZone.trim() || "UTC",
    blackout: texts.blackout.split("\n").map((line) => line.trim()).filter(Boolean),
    drill: texts.drill,
    paused: before?.paused ?? false,
    ...(isSame || keepsAll(texts, before) ? {} : { retention: { ...rules, keep_last: keepLast } }),
  };
}

/** Whether all savepoints are to be kept again: the rule that is taken away was the only one, and none is no policy. */
export function keepsAll(texts: ScheduleTexts, before: ListedSchedule | null): boolean {
  const { keep_last = null, daily = null, weekly = null, max_age_micros = null } = before?.retention ?? {};
  return texts.keepLast.trim() === "" && keep_last !== null && daily === null && weekly === null && max_age_micros === null;
}

/** The same schedule, which goes on or does not. */
export function pausedBody({ cron, time_zone, blackout, drill }: ListedSchedule, paused: boolean): object {
  return { cron, time_zone, blackout, drill, paused };
}
