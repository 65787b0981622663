/** What has changed, as the control plane tells it: one stream for the whole page. Whoever is not told asks again. */

/** What of an `EventSource` is used. */
export interface Source {
  readonly readyState: number;
  addEventListener(kind: string, heard: (event: { data: string; lastEventId: string }) => void): void;
  close(): void;
}

/** Told of the id and the name of a pipeline that has changed, or of null: anything may have, nobody tells any more, or
 * somebody tells again. */
export type Listener = (changed: { id: string; name: string } | null) => void;

const CLOSED = 2;
const LONGEST_REST = 60_000;

export class ChangeStream {
  private source: Source | null = null;
  private cursor: string | null = null;
  private isReady = false;
  /** Whether it has broken off since it was ready last. */
  private isLost = false;
  private failures = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly listeners = new Set<Listener>();
  /** How many of them wait for an answer before the stream is opened. */
  private waiting = 0;

  /** `connect` opens a stream behind a cursor; while nothing `isShown`, it is closed: a browser has few connections. */
  constructor(
    private readonly connect: (cursor: string | null) => Source,
    private readonly isShown: () => boolean,
  ) {}

  /** Whether every change is told. */
  get isLive(): boolean {
    return this.isReady;
  }

  /** Be told from now on. A stream is not opened before what is asked for `first` is there: for one that begins, the
   * control plane reads all pipelines, and what everything looks like now is wanted sooner. */
  subscribe(listener: Listener, first?: Promise<void>): () => void {
    this.listeners.add(listener);
    if (first !== undefined) this.await(first);
    this.look();
    return () => {
      this.listeners.delete(listener);
      this.look();
    };
  }

  private await(first: Promise<void>): void {
    this.waiting += 1;
    void first.finally(() => {
      this.waiting -= 1;
      this.look();
    });
  }

  /** Open the stream if it is wanted, and close it if not. */
  look(): void {
    const isWanted = this.listeners.size > 0 && this.isShown();
    if (isWanted && this.source === null && this.timer === undefined && this.waiting === 0) this.open();
    if (!isWanted) this.end();
  }

  private open(): void {
    const source = this.connect(this.cursor);
    const isFirst = this.cursor === null;
    this.source = source;
    let isAfterFirst = !isFirst;
    const hear = (kind: string, heard: (event: { data: string; lastEventId: string }) => void) =>
      source.addEventListener(kind, (event) => {
        if (this.source !== source) return;
        if (event.lastEventId) this.cursor = event.lastEventId;
        heard(event);
      });
    hear("change", ({ data }) => {
      if (!isAfterFirst) return; // all that is there: whoever shows it has asked for it
      const { pipeline_id: id, pipeline: name } = JSON.parse(data) as { pipeline_id: string; pipeline: string };
      this.tell({ id, name });
    });
    hear("reset", () => {
      isAfterFirst = false;
    });
    hear("ready", () => {
      this.isReady = true;
      this.failures = 0;
      if (!isAfterFirst || this.isLost) this.tell(null);
      isAfterFirst = true;
      this.isLost = false;
    });
    hear("error", () => {
      const was = this.isReady;
      this.isReady = false;
      this.isLost = true;
      if (source.readyState === CLOSED) this.later();
      if (was) this.tell(null);
    });
  }

  /** The browser has given the stream up: come back in a while. */
  private later(): void {
    this.source = null;
    this.failures += 1;
    this.timer = setTimeout(
      () => {
        this.timer = undefined;
        this.look();
      },
      Math.min(LONGEST_REST, 1_000 * 2 ** this.failures),
    );
  }

  private end(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.source?.close();
    this.source = null;
    this.isReady = false;
    this.isLost = false;
    this.failures = 0;
  }

  private tell(changed: { id: string; name: string } | null): void {
    for (const listener of [...this.listeners]) listener(changed);
  }
}

export const changes = new ChangeStream(
  (cursor) => new EventSource(`api/v1/changes/stream${cursor === null ? "" : `?after=${encodeURIComponent(cursor)}`}`),
  () => !document.hidden,
);
