import type { State } from "../api/types";
import { TONES, stateWord } from "../states";

/** Where a job stands: a mark and a word, so that nobody has to tell colours apart. */
export function StateMark({ state }: { state: State }) {
  return (
    <span class={`state ${TONES[state] ?? "calm"}`}>
      <span class="dot" aria-hidden="true" />
      {stateWord(state)}
    </span>
  );
}
