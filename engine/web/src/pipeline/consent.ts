/** What may become of a state that nothing keeps by itself: whoever changes a query says so, thing by thing. */
import type { UpgradePlan } from "../api/types";

export interface Consent {
  reset: readonly string[];
  keep_state: readonly string[];
  hold_back: readonly string[];
  /** The id of the plan whose losses are accepted. */
  accept_loss: string | null;
}

export type Way = "reset" | "keep_state" | "hold_back";

export interface Verdict {
  subject: string;
  name: string;
  change: string;
  reason: string;
  shown: string;
  loses: boolean;
  rows: number | null;
  bytes: number | null;
}

/** Something that can be said about what has a name. */
export interface Choice {
  way: Way;
  name: string;
}

export const NOTHING_SAID: Consent = { reset: [], keep_state: [], hold_back: [], accept_loss: null };

const OPTIONS: readonly [Way, string][] = [
  ["reset", "--reset "],
  ["keep_state", "--keep-state "],
  ["hold_back", "--hold-back "],
];

/** The verdicts of a plan, as far as it has any. */
export function verdictsOf(plan: UpgradePlan): Verdict[] {
  const found = (plan.plan as { verdicts?: unknown }).verdicts;
  return Array.isArray(found) ? (found as Verdict[]) : [];
}

/** What can be said at each verdict, and what was said that belongs to none of them. */
export function choicesOf(verdicts: readonly Verdict[], consent: Consent): { at: Choice[][]; others: Choice[] } {
  const at = verdicts.map((): Choice[] => []);
  const others: Choice[] = [];
  const seen = new Set<string>();
  const names = verdicts.map(({ name }) => name).sort((a, b) => b.length - a.length);
  function offer(choice: Choice, mentioned: number | null): void {
    const key = `${choice.way} ${choice.name}`;
    if (seen.has(key)) return;
    seen.add(key);
    const own = verdicts.findIndex(({ name }) => name === choice.name);
    const place = own >= 0 ? own : mentioned;
    (place === null ? others : at[place]!).push(choice);
  }
  verdicts.forEach((verdict, index) => {
    for (const [way, option] of OPTIONS) for (const rest of verdict.reason.split(option).slice(1)) offer({ way, name: nameAt(rest, names) }, index);
    if (verdict.change === "STATE_MIGRATED" && /windows that are open show NULL/.test(verdict.shown)) offer({ way: "hold_back", name: verdict.name }, index);
  });
  for (const [way] of OPTIONS) for (const name of consent[way]) offer({ way, name }, null);
  return { at, others };
}

/** The name that a text begins with: a known one, which may have any signs, or a word. */
function nameAt(text: string, names: readonly string[]): string {
  return names.find((name) => text.startsWith(name) && !/^[\w-]/.test(text.slice(name.length))) ?? /^[^\s,;:]*/.exec(text)![0];
}

export function isChosen(consent: Consent, { way, name }: Choice): boolean {
  return consent[way].includes(name);
}

/** What was said, with one thing more or less. Who says anything else has accepted no plan. */
export function choose(consent: Consent, { way, name }: Choice, isWanted: boolean): Consent {
  const rest = consent[way].filter((each) => each !== name);
  return { ...consent, [way]: isWanted ? [...rest, name] : rest, accept_loss: null };
}

export function spellChoice(choice: Choice): string {
  if (choice.way === "keep_state") return `${labelOf(choice)}, although its input has changed`;
  return choice.way === "hold_back" ? `${labelOf(choice)}: they are not emitted` : labelOf(choice);
}

/** A reason in which options of the command line are called what they are called here. */
export function inWordsOf({ at, others }: Pick<ReturnType<typeof choicesOf>, "at" | "others">, reason: string): string {
  const longestFirst = [...at.flat(), ...others].sort((a, b) => b.name.length - a.name.length);
  return longestFirst.reduce((text, choice) => text.replaceAll(`${OPTIONS.find(([way]) => way === choice.way)![1]}${choice.name}`, () => `“${labelOf(choice)}”`), reason);
}

function labelOf({ way, name }: Choice): string {
  if (way === "reset") return `Discard the state of ${name}`;
  return way === "keep_state" ? `Keep the state of ${name}` : `Suppress the open windows of ${name}`;
}

const WORDS: Record<string, string> = {
  SAME: "Same",
  LIVE: "Changes while it runs",
  RESTART: "Changes from the next start",
  RESCALE: "Redistributed",
  STATE_KEPT: "State kept",
  STATE_MIGRATED: "State migrated",
  STATE_DROPPED: "State discarded",
  STATE_NEW: "Starts empty",
  REFUSED: "Refused",
};

export function changeWord(change: string): string {
  return WORDS[change] ?? change;
}
