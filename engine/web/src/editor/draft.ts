/** A script that another page has made, for the editor to begin with. */
let draft = "";

export function beginWith(script: string): void {
  draft = script;
}

/** It is taken once. */
export function takeDraft(): string {
  const taken = draft;
  draft = "";
  return taken;
}

export interface Written {
  name: string;
  text: string;
}

/** What was written and not deployed, by where; until the page is loaded anew or left. */
const unfinished = new Map<string, Written>();

/** Where it is kept what is written at an address of the editor. A script of another page takes the place of nothing:
 * where something is kept already, it has its own. */
export function placeOf(pipeline: string | null, example: string | undefined, taken: string): string {
  const place = `${pipeline ?? ""}/${example ?? ""}`;
  return taken !== "" && unfinished.has(place) ? `${place}/${taken}` : place;
}

/** Keep what is written there, or nothing any more. */
export function keepWritten(of: string, written: Written | null): void {
  if (written === null) unfinished.delete(of);
  else unfinished.set(of, written);
}

/** A text is deployed: nobody has to come back to it, unless they have written on meanwhile. */
export function forgetWritten(of: string, text: string): void {
  if (unfinished.get(of)?.text === text) unfinished.delete(of);
}

export function findWritten(of: string): Written | null {
  return unfinished.get(of) ?? null;
}

/** Nobody comes back for it. */
export function forgetAll(): void {
  draft = "";
  unfinished.clear();
}

/** Who was let in last. */
let writer: string | null = null;

/** Somebody is let in: what was written before is for the one who wrote it, whose session may just have been over, and for
 * nobody else. */
export function openFor(who: string): void {
  if (writer !== who) forgetAll();
  writer = who;
}
