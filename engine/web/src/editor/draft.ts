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

/** What was written and not deployed, by the address of its editor; until the page is loaded anew or left. */
const unfinished = new Map<string, Written>();

/** Keep what is written there, or nothing any more. */
export function keepWritten(of: string, written: Written | null): void {
  if (written === null) unfinished.delete(of);
  else unfinished.set(of, written);
}

export function findWritten(of: string): Written | null {
  return unfinished.get(of) ?? null;
}

/** The next one who is let in is somebody else. */
export function forgetAll(): void {
  draft = "";
  unfinished.clear();
}
