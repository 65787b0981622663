import { useEffect, useState } from "preact/hooks";
import { ask } from "../api/client";
import type { Leak, Storage, SweepAnswer } from "../api/types";
import { bytes, count } from "../format";
import { ProblemBox } from "../parts/problem";
import { SureButton } from "../parts/sure-button";
import { pipelinePath } from "../router";
import { keptWords } from "./rules";

const SHOWN = 10;

/** What is kept where, how much room there is, and what may go. A sweep is not passed on. */
export function StorageUse({ isPassedOn }: { isPassedOn: boolean }) {
  const [storage, setStorage] = useState<Storage | null>(null);
  const [isWhole, setWhole] = useState(false);
  const [swept, setSwept] = useState<SweepAnswer | null>(null);
  const [error, setError] = useState<Error | null>(null);

  async function attempt(action: () => Promise<void>): Promise<void> {
    setError(null);
    try {
      await action();
      setStorage(await ask<Storage>("GET", "/storage"));
    } catch (problem) {
      setError(problem as Error);
    }
  }

  useEffect(() => void attempt(async () => undefined), []);

  return (
    <section class="panel" aria-label="Storage" aria-busy={!storage && !error}>
      <div class="row">
        <h2>Storage</h2>
        <button disabled={!storage} onClick={() => void attempt(async () => setSwept(null))}>
          Refresh
        </button>
      </div>
      {error && <ProblemBox error={error} />}
      {storage && (
        <>
          <dl class="facts">
            <div>
              <dt>Data directory</dt>
              <dd>{storage.data_dir}</dd>
            </div>
            <div>
              <dt>Free space</dt>
              <dd>{bytes(storage.free_bytes)}</dd>
            </div>
            {storage.others.map((other) => (
              <div key={other.kind}>
                <dt>{capital(other.kind)}</dt>
                <dd>{bytes(other.bytes)}</dd>
              </div>
            ))}
          </dl>
          <Sizes storage={storage} isWhole={isWhole} />
          {storage.pipelines.length > SHOWN && <button onClick={() => setWhole(!isWhole)}>{isWhole ? "Show the largest only" : `Show all ${storage.pipelines.length}`}</button>}
          <p class="hint">
            Savepoints are stored beside the state of their pipeline and share files with it. <code>arroyo savepoint export</code> copies one to another location.
          </p>
          <h3>Reclaimable files</h3>
          <Leaks leaks={storage.leaks} />
          <div role="status">{swept && <p>{`Deleted ${bytes(swept.bytes)}.`}</p>}</div>
          {!isPassedOn && storage.leaks.length > 0 && <SureButton text="Delete" about="the reclaimable files" action={() => void attempt(async () => setSwept(await ask<SweepAnswer>("POST", "/sweep")))} />}
        </>
      )}
    </section>
  );
}

function Sizes({ storage, isWhole }: { storage: Storage; isWhole: boolean }) {
  if (storage.pipelines.length === 0) return <p class="hint">No pipelines yet.</p>;
  const rows = isWhole ? storage.pipelines : storage.pipelines.slice(0, SHOWN);
  return (
    <div class="overflow" tabIndex={0} role="group" aria-label="Sizes by pipeline">
      <table class="list">
        <thead>
          <tr>
            {["Pipeline", "State", "Savepoints", "Exclusive", "Logs", "Retention"].map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((each) => (
            <tr key={each.pipeline_id}>
              <td>
                <a href={pipelinePath(each.pipeline)}>{each.pipeline}</a>
              </td>
              <td>{bytes(each.state_bytes)}</td>
              <td>{count(each.savepoints)}</td>
              <td>{bytes(each.savepoint_bytes)}</td>
              <td>{bytes(each.log_bytes)}</td>
              <td>{keptWords(each.retention)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** What is left behind, one line for each kind. */
function Leaks({ leaks }: { leaks: Leak[] }) {
  if (leaks.length === 0) return <p class="hint">None. The control plane checks regularly.</p>;
  const kinds = new Map<string, { count: number; bytes: number; reason: string }>();
  for (const leak of leaks) {
    const before = kinds.get(leak.kind) ?? { count: 0, bytes: 0, reason: leak.reason };
    kinds.set(leak.kind, { ...before, count: before.count + leak.count, bytes: before.bytes + (leak.bytes ?? 0) });
  }
  return (
    <ul class="plain">
      {[...kinds].map(([kind, found]) => (
        <li key={kind}>
          <span>
            <strong>{capital(kind)}</strong> {`${count(found.count)}${found.bytes ? `, ${bytes(found.bytes)}` : ""}`} <span class="hint">{found.reason}</span>
          </span>
        </li>
      ))}
    </ul>
  );
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
