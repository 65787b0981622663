/** What is asked for again and again while somebody looks. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";

export interface Polled<T> {
  data: T | null;
  error: Error | null;
  again: () => void;
}

/** How long to rest after a request that took so many milliseconds, and so many that failed in a row before it. The
 * control plane has others to answer, too. */
export function rest(every: number, took: number, failures: number): number {
  return Math.min(30_000, Math.max(every, 10 * took) * 2 ** Math.min(failures, 5));
}

/** Asks when the page is shown, and every so many milliseconds, unless it is hidden. What was answered last stays when a
 * request fails. */
export function usePolled<T>(load: (signal: AbortSignal) => Promise<T>, every: number, keys: readonly unknown[]): Polled<T> {
  const [data, setData] = useState<T | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const wake = useRef<() => void>(() => undefined);
  useEffect(() => {
    const ending = new AbortController();
    let timer = 0;
    let asking = false;
    let failures = 0;
    setData(null);
    setError(null);
    async function round(): Promise<void> {
      clearTimeout(timer);
      if (asking || ending.signal.aborted) return;
      if (document.hidden) return;
      asking = true;
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
      timer = window.setTimeout(() => void round(), rest(every, performance.now() - began, failures));
    }
    const shown = () => void (document.hidden || round());
    wake.current = () => void round();
    document.addEventListener("visibilitychange", shown);
    void round();
    return () => {
      ending.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", shown);
    };
  }, keys);
  return { data, error, again: useCallback(() => wake.current(), []) };
}
