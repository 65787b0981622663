/** Requests to the control plane that serves the page. */
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
  ) {
    super(message);
  }
}

/** Nobody has answered. */
export class Unreachable extends Error {
  constructor() {
    super("The control plane does not answer.");
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
}

export async function ask<T>(method: Method, path: string, asked: Asked = {}): Promise<T> {
  const answer = await answered(method, path, asked);
  return (answer.status === 204 ? null : await answer.json()) as T;
}

/** What the last of the events says with which a request is answered. */
export async function lastEvent<T>(path: string, body: unknown): Promise<T> {
  const text = await (await answered("POST", path, { body })).text();
  const lines = text.split("\n").filter((line) => line.startsWith("data: "));
  if (lines.length === 0) throw new Unreachable();
  return JSON.parse(lines.at(-1)!.slice("data: ".length)) as T;
}

async function answered(method: Method, path: string, { query, body, signal }: Asked): Promise<Response> {
  const init: RequestInit = {
    method,
    credentials: "same-origin",
    headers: { Accept: "application/json", "X-Arroyo-Page": "1", ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
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

/** All pipelines, page by page. */
export async function allPipelines(signal?: AbortSignal): Promise<ListedPipeline[]> {
  const found: ListedPipeline[] = [];
  for (;;) {
    const after = found.at(-1)?.id;
    const query: Query = { limit: 1000, starting_after: after };
    const page = await ask<{ data: ListedPipeline[]; has_more: boolean }>("GET", "/pipelines", { query, ...(signal ? { signal } : {}) });
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
    problem.detail ?? `The answer has the status ${answer.status}.`,
    problem.hint ?? null,
    problem.errors ?? [],
    problem.plan ?? null,
  );
}
