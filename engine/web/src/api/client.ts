/** Requests to the control plane that serves the page. */
import { readExactly } from "./exact";
import type { Complaint, ListedPipeline, Problem, UpgradePlan } from "./types";

/** What the control plane has refused, in its own words. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint: string | null,
    readonly complaints: Complaint[],
    /** What would become of a state, where that is why. */
    readonly plan: UpgradePlan | null = null,
    /** The field of the request with which it is done all the same. */
    readonly allowedBy: string | null = null,
  ) {
    super(message);
  }
}

/** Nobody has answered. */
export class Unreachable extends Error {
  constructor() {
    super("The control plane does not respond.");
  }
}

/** Told when a request was refused because nobody is let in any more. */
export const signedOut = new EventTarget();

type Query = Record<string, string | number | boolean | string[] | undefined>;
type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export interface Asked {
  query?: Query;
  body?: unknown;
  signal?: AbortSignal;
  /** Sent to its end even if the page is closed meanwhile. */
  keepalive?: boolean;
  /** Rows of data are answered, whose numbers may be larger than those of JavaScript. */
  exactly?: boolean;
}

export async function ask<T>(method: Method, path: string, asked: Asked = {}): Promise<T> {
  const answer = await answered(method, path, asked);
  if (answer.status === 204) return null as T;
  return (asked.exactly ? readExactly(await answer.text()) : await answer.json()) as T;
}

/** What the last of the events says with which a request is answered. */
export async function lastEvent<T>(path: string, body: unknown): Promise<T> {
  const text = await (await answered("POST", path, { body })).text();
  const lines = text.split("\n").filter((line) => line.startsWith("data: "));
  if (lines.length === 0) throw new Unreachable();
  return JSON.parse(lines.at(-1)!.slice("data: ".length)) as T;
}

/** Hears the data of each event of a stream, until that ends. */
export async function hearEvents(path: string, signal: AbortSignal, heard: (data: string) => void): Promise<void> {
  const { body } = await answered("GET", path, { signal });
  if (body === null) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let begun = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (begun + value).split("\n");
    begun = lines.pop()!;
    for (const line of lines) if (line.startsWith("data: ")) heard(line.slice("data: ".length));
  }
}

async function answered(method: Method, path: string, { query, body, signal, keepalive }: Asked): Promise<Response> {
  const init: RequestInit = {
    method,
    credentials: "same-origin",
    headers: { Accept: "application/json", "X-Arroyo-Page": "1", ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
    ...(keepalive ? { keepalive } : {}),
  };
  let answer: Response;
  try {
    answer = await fetch(`api/v1${path}${spell(query)}`, init);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Unreachable();
  }
  if (answer.ok) return answer;
  const refused = await refusal(answer);
  if (answer.status === 401 && path !== "/session") signedOut.dispatchEvent(new Event("signedout"));
  throw refused;
}

/** A piece of a path. */
export function part(text: string): string {
  return encodeURIComponent(text);
}

/** All pipelines. */
export function allPipelines(signal?: AbortSignal): Promise<ListedPipeline[]> {
  return allOf<ListedPipeline>("/pipelines", signal);
}

/** The whole of a list, page by page. */
export async function allOf<T extends { id: string }>(path: string, signal?: AbortSignal): Promise<T[]> {
  const found: T[] = [];
  for (;;) {
    const query: Query = { limit: 1000, starting_after: found.at(-1)?.id };
    const page = await ask<{ data: T[]; has_more: boolean }>("GET", path, { query, ...(signal ? { signal } : {}) });
    found.push(...page.data);
    if (!page.has_more || page.data.length === 0) return found;
  }
}

function spell(query: Query | undefined): string {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {}))
    for (const single of Array.isArray(value) ? value : [value]) if (single !== undefined) pairs.append(name, String(single));
  const text = pairs.toString();
  return text && `?${text}`;
}

async function refusal(answer: Response): Promise<Refused> {
  let problem: Partial<Problem> = {};
  try {
    problem = (await answer.json()) as Partial<Problem>;
  } catch {
    // what is in between, such as a proxy, answers in its own way
  }
  return new Refused(
    answer.status,
    problem.code ?? `http.${answer.status}`,
    problem.detail ?? `The response has status ${answer.status}.`,
    problem.hint ?? null,
    problem.errors ?? [],
    problem.plan ?? null,
    problem.allowed_by ?? null,
  );
}
