/** What the control plane advises those who send requests, in the words of the page. */
import type { Refused } from "../api/client";

const OF_CODES: Readonly<Record<string, string>> = {
  "pipeline.not_found": "Jobs shows the pipelines that there are.",
  "request.not_found": "Nothing can have this name: one has no slash, and is not made of dots. Jobs shows the pipelines that there are.",
  "savepoint.not_found": "The history of the pipeline shows those that there are.",
  "stored.not_found": "Connections shows those that there are.",
  "token.not_found": "Settings shows the tokens that there are.",
};

/** What runs advise of their own state is said to those who gave them the directory. */
const OF_FAILURES: Readonly<Record<string, string>> = {
  "state.other_format": "Go on with the version of the engine that has written the state, or deploy the query under another name.",
  "state.unreadable": "Restore puts a savepoint back; History shows those that there are. Without one, deploy the query under another name.",
};

interface Labelled {
  name: string;
  label: string;
}

/** What to do about a refusal: the field of the form that allows it, if it has one. */
export function adviceOf({ code, hint, allowedBy }: Pick<Refused, "code" | "hint" | "allowedBy">, fields: readonly Labelled[] = []): string | null {
  const field = fields.find(({ name }) => name === allowedBy);
  if (field) return `Choose “${field.label}” above if it is to be done all the same.`;
  return OF_CODES[code] ?? hint;
}

/** What to do about the failure of a job. */
export function adviceOfFailure(code: string | null, hint: string | null): string | null {
  return OF_FAILURES[code ?? ""] ?? hint;
}
