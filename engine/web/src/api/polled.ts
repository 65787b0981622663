/** What is asked for when it has changed, and again and again while nobody tells of changes. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { changes } from "./changes";

export interface Polled<T> {
  data: T | null;
  error: Error | null;
  again: () => void;
}

export interface Pace {
  /** Ask so many milliseconds after the answer before at the earliest; and at the latest while nobody tells of changes. */
  every: number;
  /** Ask after so many even if nothing is told: what is shown may also change by itself. */
  idle: number;
  /** The name or the id of the pipeline that matters; null for all of them. */
  of: string | null;
}

/** How long to rest after a request that took so many milliseconds, and so many that failed in a row before it. The
 * control plane has others to answer, too. */
export function rest(every: number, took: number, failures: number): number {
  return Math.min(30_000, Math.max(every, 10 * took) * 2 ** Math.min(failures, 5));
}

/** Asks when the page is shown, when something has changed, and now and then, unless it is hidden. What was answered last
 * stays when a request fails. */
export function usePolled<T>(load: (signal: AbortSignal) => Promise<T>, { every, idle, of }: Pace, keys: readonly unknown[]): Polled<T> {
  const [data, setData] = useState<T | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const wake = useRef<() => void>(() => undefined);
  useEffect(() => {
    const ending = new AbortController();
    let timer = 0;
    let asking = false;
    let isTold = false;
    let failures = 0;
    let took = 0;
    let ended = 0;
    setData(null);
    setError(null);
    async function round(): Promise<void> {
      clearTimeout(timer);
      if (asking || ending.signal.aborted) return;
      if (document.hidden) return;
      asking = true;
      isTold = false;
      const began = performance.now();
      try {
        const answer = await load(ending.signal);
        if (ending.signal.aborted) return;
        failures = 0;
        setData(answer);
        setError(null);
      } catch (problem) {
        if (ending.signal.aborted) return;
        failures += 1;
        setError(problem instanceof Error ? problem : new Error(String(problem)));
      } finally {
        asking = false;
      }
      ended = performance.now();
      took = ended - began;
      plan();
    }
    function plan(): void {
      clearTimeout(timer);
      const pause = rest(every, took, failures);
      const wait = changes.isLive && !isTold && failures === 0 ? Math.max(idle, pause) : pause;
      timer = window.setTimeout(() => void round(), Math.max(0, ended + wait - performance.now()));
    }
    function hear(changed: { id: string; name: string } | null): void {
      if (changed !== null && of !== null && changed.name !== of && changed.id !== of) return;
      if (changed === null && changes.isLive) failures = 0; // who tells of changes again also answers again
      else if (isTold) return; // it is asked for already
      isTold = true;
      if (!asking && !document.hidden) plan();
    }
    const shown = () => void (document.hidden || round());
    wake.current = () => void round();
    document.addEventListener("visibilitychange", shown);
    const leave = changes.subscribe(hear, round());
    return () => {
      leave();
      ending.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", shown);
    };
  }, keys);
  return { data, error, again: useCallback(() => wake.current(), []) };
}
