import { useState } from "preact/hooks";
import { ask, part } from "../api/client";
import { type Pace, usePolled } from "../api/polled";
import type { Pipeline, PipelineEvent } from "../api/types";
import { instant } from "../format";
import { ProblemBox } from "../parts/problem";
import { Sentence } from "../parts/sentence";

const SEVERITIES = ["info", "warn", "error"] as const;

/** What has happened, and who asked for it. */
export function Events({ pipeline, pace }: { pipeline: Pipeline; pace: Pace }) {
  const [severity, setSeverity] = useState<string>("info");
  const { data, error } = usePolled(
    (signal) => ask<{ data: PipelineEvent[] }>("GET", `/pipelines/${part(pipeline.name)}/events`, { query: { limit: 500, severity }, signal }),
    pace,
    [pipeline.id, severity],
  );
  return (
    <section class="panel wide">
      <div class="row">
        <h2>Events</h2>
        <label>
          At least{" "}
          <select value={severity} onChange={(event) => setSeverity(event.currentTarget.value)}>
            {SEVERITIES.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
      </div>
      {error && <ProblemBox error={error} />}
      {data?.data.length === 0 && <p class="hint">No matching events.</p>}
      <ol class="events">
        {data?.data.map((event) => (
          <li key={event.id} class={event.level}>
            <time>{instant(event.created_at)}</time>
            <span class="level">{event.level}</span>
            <span class="message">
              {event.code && <code>{event.code}</code>} <Sentence text={event.message} />
              {event.details && (
                <span class="hint">
                  {" "}
                  <Sentence text={event.details} />
                </span>
              )}
            </span>
            <span class="hint">
              <Sentence text={event.requested_by ? `${event.who}, for ${event.requested_by}` : event.who} />
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}
