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
