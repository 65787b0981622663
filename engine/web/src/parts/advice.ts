/** What the control plane advises those who send requests, in the words of the page. */
import type { Refused } from "../api/client";

const OF_CODES: Readonly<Record<string, string>> = {
  "pipeline.not_found": "The page Jobs lists all pipelines.",
  "request.not_found": "No pipeline can have this name: names have no slash and are not only dots. The page Jobs lists all pipelines.",
  "savepoint.not_found": "The History of the pipeline lists its savepoints.",
  "stored.not_found": "The page Connections lists them.",
  "token.not_found": "The page Settings lists all tokens.",
};

/** What runs advise of their own state is said to those who gave them the directory. */
const OF_FAILURES: Readonly<Record<string, string>> = {
  "state.other_format": "Use the version of the engine that wrote the state, or deploy the query under another name.",
  "state.unreadable": "Restore a savepoint (History lists them), or deploy the query under another name.",
};

interface Labelled {
  name: string;
  label: string;
}

/** What to do about a refusal: the field of the form that allows it, if it has one. */
export function adviceOf({ code, hint, allowedBy }: Pick<Refused, "code" | "hint" | "allowedBy">, fields: readonly Labelled[] = []): string | null {
  const field = fields.find(({ name }) => name === allowedBy);
  if (field) return `Choose “${field.label}” above to continue.`;
  return OF_CODES[code] ?? hint;
}

/** What to do about the failure of a job. */
export function adviceOfFailure(code: string | null, hint: string | null): string | null {
  return OF_FAILURES[code ?? ""] ?? hint;
}
