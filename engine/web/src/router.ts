/** Where in the page somebody is: what stands behind the # of its address. */
import { useEffect, useState } from "preact/hooks";

export type Route =
  | { page: "jobs" }
  | { page: "pipeline"; name: string; part: string }
  | { page: "editor"; pipeline: string | null; isFork: boolean; savepoint?: string; example?: string }
  | { page: "connections" }
  | { page: "settings" }
  | { page: "login"; code: string };

export function readRoute(hash: string): Route {
  const [kind = "", first = "", second = "", third = ""] = hash.replace(/^#\/?/, "").split("/").map(decode);
  if (kind === "pipelines" && first) return { page: "pipeline", name: first, part: second || "overview" };
  if (kind === "editor") return { page: "editor", pipeline: first || null, isFork: first !== "" && second === "fork", ...(third ? { savepoint: third } : {}) };
  if (kind === "examples") return { page: "editor", pipeline: null, isFork: false, example: first };
  if (kind === "connections" || kind === "settings") return { page: kind };
  if (kind === "login") return { page: "login", code: first };
  return { page: "jobs" };
}

export function pipelinePath(name: string, part = "overview"): string {
  const tail = part === "overview" ? "" : `/${part}`;
  return `#/pipelines/${encodeURIComponent(name)}${tail}`;
}

export function editorPath(pipeline: string | null = null): string {
  return pipeline === null ? "#/editor" : `#/editor/${encodeURIComponent(pipeline)}`;
}

export function examplePath(name: string): string {
  return `#/examples/${encodeURIComponent(name)}`;
}

/** Where a pipeline is forked, from a savepoint if one is named. */
export function forkPath(pipeline: string, savepoint: string | null = null): string {
  return `${editorPath(pipeline)}/fork${savepoint === null ? "" : `/${encodeURIComponent(savepoint)}`}`;
}

export function go(path: string): void {
  location.hash = path;
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => readRoute(location.hash));
  useEffect(() => {
    const moved = () => setRoute(readRoute(location.hash));
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  return route;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
