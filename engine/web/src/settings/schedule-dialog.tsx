import { useState } from "preact/hooks";
import { ask, part } from "../api/client";
import type { ListedSchedule } from "../api/types";
import { apart } from "../format";
import { Dialog } from "../parts/dialog";
import { ProblemBox } from "../parts/problem";
import { type ScheduleTexts, bodyOf, keepsAll, textsOf } from "./rules";

interface Props {
  /** The one that is changed; null for a new one. */
  schedule: ListedSchedule | null;
  pipelines: string[];
  close: () => void;
  kept: () => void;
}

/** Says when the savepoints of a pipeline are taken. */
export function ScheduleDialog({ schedule, pipelines, close, kept }: Props) {
  const [texts, setTexts] = useState<ScheduleTexts>(() => ({ ...textsOf(schedule), pipeline: pipelines[0] ?? "" }));
  const [error, setError] = useState<Error | null>(null);
  const [isBusy, setBusy] = useState(false);
  const set = (changed: Partial<ScheduleTexts>) => setTexts({ ...texts, ...changed });

  async function keep(): Promise<void> {
    setBusy(true);
    try {
      const path = `/pipelines/${part(schedule?.pipeline_id ?? texts.pipeline)}`;
      await ask("PUT", `${path}/savepoint-schedule`, { body: bodyOf(texts, schedule) });
      if (keepsAll(texts, schedule)) await ask("DELETE", `${path}/savepoint-retention`);
      kept();
    } catch (problem) {
      setError(problem as Error);
      setBusy(false);
    }
  }

  return (
    <Dialog title={schedule ? `Schedule of ${apart(schedule.pipeline)}` : "New schedule"} isBusy={isBusy} close={close} submit={() => void keep()}>
      {!schedule && (
        <p class="field">
          <label>
            <span>Pipeline</span>
            <select required value={texts.pipeline} onChange={(event) => set({ pipeline: event.currentTarget.value })}>
              {pipelines.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
          {pipelines.length === 0 && <span class="hint">Every pipeline already has a schedule, or there are no pipelines.</span>}
        </p>
      )}
      <p class="field">
        <label>
          <span>When (cron)</span>
          <input required maxLength={256} autocomplete="off" spellcheck={false} value={texts.cron} aria-describedby="cron-about" onInput={(event) => set({ cron: event.currentTarget.value })} />
        </label>
        <span id="cron-about" class="hint">
          Minute, hour, day of the month, month, day of the week: <code>0 2 * * *</code> is 02:00 every day, <code>*/15 * * * *</code> every 15 minutes.
        </span>
      </p>
      <p class="field">
        <label>
          <span>Time zone</span>
          <input maxLength={64} autocomplete="off" spellcheck={false} value={texts.timeZone} onInput={(event) => set({ timeZone: event.currentTarget.value })} />
        </label>
      </p>
      <p class="field">
        <label>
          <span>Blackout windows (one per line)</span>
          <textarea rows={2} spellcheck={false} placeholder="mon-fri 09:00-17:00" value={texts.blackout} onInput={(event) => set({ blackout: event.currentTarget.value })} />
        </label>
      </p>
      <p class="field">
        <label>
          <span>Savepoints to keep (blank: all)</span>
          <input inputMode="numeric" pattern="[1-9][0-9]{0,4}" value={texts.keepLast} onInput={(event) => set({ keepLast: event.currentTarget.value })} />
        </label>
      </p>
      <p class="field">
        <label>
          <input type="checkbox" checked={texts.drill} onChange={(event) => set({ drill: event.currentTarget.checked })} /> Test-restore each savepoint after it is taken
        </label>
      </p>
      {error && <ProblemBox error={error} />}
      <p class="buttons">
        <button type="button" disabled={isBusy} onClick={close}>
          Cancel
        </button>
        <button class="primary" disabled={isBusy || texts.pipeline === ""}>
          Save schedule
        </button>
      </p>
    </Dialog>
  );
}
