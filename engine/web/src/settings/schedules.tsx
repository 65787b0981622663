import { useEffect, useState } from "preact/hooks";
import { allPipelines, ask, part } from "../api/client";
import type { ListedSchedule } from "../api/types";
import { apart, instant } from "../format";
import { ProblemBox } from "../parts/problem";
import { SureButton } from "../parts/sure-button";
import { pipelinePath } from "../router";
import { useMayChange } from "../session";
import { keptWords, lastWords, pausedBody, scheduleWords } from "./rules";
import { ScheduleDialog } from "./schedule-dialog";

/** When the savepoints of which pipelines are taken by themselves. */
export function Schedules() {
  const mayChange = useMayChange();
  const [schedules, setSchedules] = useState<ListedSchedule[] | null>(null);
  const [edited, setEdited] = useState<{ schedule: ListedSchedule | null; pipelines: string[] } | null>(null);
  const [error, setError] = useState<Error | null>(null);

  async function attempt(action: () => Promise<unknown>): Promise<void> {
    setError(null);
    try {
      await action();
      setSchedules((await ask<{ data: ListedSchedule[] }>("GET", "/savepoint-schedules")).data);
    } catch (problem) {
      setError(problem as Error);
    }
  }

  useEffect(() => void attempt(async () => undefined), []);

  const pathOf = ({ pipeline_id }: ListedSchedule) => `/pipelines/${part(pipeline_id)}/savepoint-schedule`;
  const add = () =>
    attempt(async () => {
      const known = new Set(schedules?.map(({ pipeline }) => pipeline));
      setEdited({ schedule: null, pipelines: (await allPipelines()).map(({ name }) => name).filter((name) => !known.has(name)) });
    });

  return (
    <section class="panel" aria-label="Schedules" aria-busy={!schedules && !error}>
      <div class="row">
        <h2>Scheduled savepoints</h2>
        {mayChange && (
          <button disabled={!schedules} onClick={() => void add()}>
            New schedule
          </button>
        )}
      </div>
      {error && <ProblemBox error={error} />}
      {schedules?.length === 0 && <p class="hint">No schedules yet. A schedule takes savepoints automatically while its pipeline runs.</p>}
      <ul class="plain">
        {schedules?.map((schedule) => (
          <li key={schedule.pipeline_id}>
            <span>
              <a href={pipelinePath(schedule.pipeline, "history")}>
                <strong>{schedule.pipeline}</strong>
              </a>{" "}
              <span>{scheduleWords(schedule)}</span>
              <span class="facts-line">
                <span>{schedule.paused ? <strong>Paused</strong> : `Next ${instant(schedule.next_at ?? null)}`}</span>
                <span class={schedule.last?.state === "failed" ? "bad" : ""}>{lastWords(schedule.last)}</span>
                <span>{keptWords(schedule.retention)}</span>
              </span>
            </span>
            {mayChange && (
              <span class="buttons">
                <button aria-label={`${schedule.paused ? "Resume" : "Pause"} the schedule of ${schedule.pipeline}`} onClick={() => void attempt(() => ask("PUT", pathOf(schedule), { body: pausedBody(schedule, !schedule.paused) }))}>
                  {schedule.paused ? "Resume" : "Pause"}
                </button>
                <button aria-label={`Edit the schedule of ${apart(schedule.pipeline)}`} onClick={() => setEdited({ schedule, pipelines: [schedule.pipeline] })}>
                  Edit
                </button>
                <SureButton text="Remove" about={`the schedule of ${apart(schedule.pipeline)}`} action={() => void attempt(() => ask("DELETE", pathOf(schedule)))} />
              </span>
            )}
          </li>
        ))}
      </ul>
      {edited && (
        <ScheduleDialog
          schedule={edited.schedule}
          pipelines={edited.pipelines}
          close={() => setEdited(null)}
          kept={() => {
            setEdited(null);
            void attempt(async () => undefined);
          }}
        />
      )}
    </section>
  );
}
