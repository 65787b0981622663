/** What holds the watermark back, in words. */
import type { HeldBy, Job } from "../api/types";
import { instant } from "../format";

const RESTING = ["Stopped", "Failed", "Finished"];
const REASONS: Record<HeldBy["reason"], string> = {
  no_rows: "no row yet",
  oldest_rows: "the oldest rows",
  unread_rows: "rows that are not read yet",
  silent: "no new rows in any partition",
  history: "history that is not read yet",
  open_files: "rows in files that are not final yet",
  no_epoch: "no epoch is committed yet",
  not_running: "the job is not running",
};

/** What holds back the sink that is least complete; null where nothing does, and of a job that is not running. */
export function heldBy(job: Job | null): HeldBy | null {
  if (job === null || RESTING.includes(job.state)) return null;
  const sinks = Object.values(job.sinks ?? {}).filter(({ held_by }) => held_by);
  const least = sinks.sort((a, b) => (a.complete_until ?? 0) - (b.complete_until ?? 0))[0];
  return least?.held_by ?? null;
}

/** Where it is and why, such as `orders, partition 3: the oldest rows (watermark 12:00:00)`. */
export function heldText({ reason, source, partition, watermark }: HeldBy): string {
  const place = source ? `${source}${partition ? `, partition ${partition}` : ""}: ` : "";
  return `${place}${REASONS[reason] ?? reason}${watermark == null ? "" : ` (watermark ${instant(watermark)})`}`;
}

/** What would move it on; null where that is only more rows. */
export function heldRemedy({ reason, remedy }: HeldBy): string | null {
  if (reason === "oldest_rows" || !remedy) return null;
  return `${remedy}.`;
}
