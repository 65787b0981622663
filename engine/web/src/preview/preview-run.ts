/** One preview: begun, read while it is there, stopped by itself or by somebody, and left. */
import { Refused, Unreachable, ask, hearEvents, part } from "../api/client";
import type { Job, Pipeline } from "../api/types";
import { type Piece, type Shown, taken } from "./rows";

const PAUSE = 1_000;
/** How long to wait for a control plane that does not answer. */
const AGAIN = 2_000;

/** When it stops by itself: so many milliseconds after it is up, or once it has shown so many rows. */
export interface Limit {
  milliseconds?: number;
  rows?: number;
}

/** How a preview stands. `error` is why it did not begin, or cannot be read; why it failed is in the job. */
export interface View {
  job: Job | null;
  tables: ReadonlyMap<string, Shown>;
  isStopping: boolean;
  isOver: boolean;
  error: Error | null;
}

export const BEGINNING: View = { job: null, tables: new Map(), isStopping: false, isOver: false, error: null };

export class PreviewRun {
  private view = BEGINNING;
  private pipeline: string | null = null;
  private upSince: number | null = null;
  private isLeft = false;
  private readonly ending = new AbortController();

  /** `limit` is asked again and again, since somebody may change it. */
  constructor(
    private readonly query: string,
    private readonly limit: () => Limit,
    private readonly changed: (view: View) => void,
  ) {}

  /** Run it, until it is over or somebody leaves. */
  async play(): Promise<void> {
    try {
      const { id } = await ask<Pipeline>("POST", "/pipelines/preview", { body: { query: this.query } });
      this.pipeline = id;
      if (this.isLeft) return this.end();
      await Promise.all([this.watch(), this.read()]);
    } catch (problem) {
      this.show({ error: problem as Error });
    }
    this.show({ isOver: true });
    this.ending.abort();
  }

  /** What has come stays shown. */
  stop(): void {
    if (this.view.isStopping || this.view.isOver) return;
    this.show({ isStopping: true });
    this.end();
  }

  /** Nobody looks any more. */
  leave(): void {
    if (this.isLeft) return;
    this.isLeft = true;
    this.ending.abort();
    this.end();
  }

  /** Whatever becomes of this request, which the page may not outlive: the control plane ends what nobody looks at, and
   * deletes it. */
  private end(): void {
    if (this.pipeline === null || isAtRest(this.view.job)) return;
    ask("PATCH", `/pipelines/${part(this.pipeline)}`, { body: { stop: "immediate" }, keepalive: true }).catch(() => this.show({ isStopping: false }));
  }

  /** Looks at the job until it is at rest. */
  private async watch(): Promise<void> {
    while (!this.ending.signal.aborted && !isAtRest(this.view.job)) {
      await this.tryAgain(async () => {
        const { data } = await ask<{ data: Job[] }>("GET", `/pipelines/${part(this.pipeline!)}/jobs`, { signal: this.ending.signal });
        if (data[0]) this.show({ job: data[0], error: null });
      });
      this.mind();
      if (!isAtRest(this.view.job)) await this.rest(PAUSE);
    }
  }

  /** Reads rows until there are no more: the stream of a job at rest ends behind its last row. */
  private async read(): Promise<void> {
    while (!this.ending.signal.aborted) {
      const job = this.view.job;
      if (job !== null) {
        const isLast = isAtRest(job);
        const path = `/pipelines/${part(this.pipeline!)}/jobs/${part(job.id)}/output`;
        const isWhole = await this.tryAgain(() => hearEvents(path, this.ending.signal, (data) => this.take(JSON.parse(data) as Piece)));
        if (isLast && isWhole) return;
      }
      await this.rest(PAUSE);
    }
  }

  private take(piece: Piece): void {
    const tables = new Map(this.view.tables);
    tables.set(piece.operator_id, taken(tables.get(piece.operator_id), piece));
    this.show({ tables });
    this.mind();
  }

  /** Stops it once it has run for long enough, or has shown enough. */
  private mind(): void {
    if (this.view.job?.state === "Running") this.upSince ??= performance.now();
    const { milliseconds, rows } = this.limit();
    const isLong = milliseconds !== undefined && this.upSince !== null && performance.now() - this.upSince >= milliseconds;
    const isMuch = rows !== undefined && [...this.view.tables.values()].some(({ total }) => total >= rows);
    if (isLong || isMuch) this.stop();
  }

  /** Whether it has been done. One that nobody looked at for too long is gone, which no further try brings back. */
  private async tryAgain(action: () => Promise<void>): Promise<boolean> {
    try {
      await action();
      return true;
    } catch (problem) {
      if (this.ending.signal.aborted) return false;
      if (problem instanceof Refused && problem.status < 500) throw problem;
      this.show({ error: problem instanceof Refused ? problem : new Unreachable() });
      await this.rest(AGAIN);
      return false;
    }
  }

  private rest(milliseconds: number): Promise<void> {
    return new Promise((done) => {
      const timer = setTimeout(done, milliseconds);
      this.ending.signal.addEventListener("abort", () => (clearTimeout(timer), done()), { once: true });
    });
  }

  private show(part: Partial<View>): void {
    this.view = { ...this.view, ...part };
    if (!this.isLeft) this.changed(this.view);
  }
}

export function isAtRest(job: Job | null): boolean {
  return job !== null && job.settled && (job.state === "Stopped" || job.state === "Failed" || job.state === "Finished");
}
