import type { State } from "../api/types";
import { TONES, stateWord } from "../states";

interface Props {
  state: State;
  /** Whether nobody knows if it still stands there, since the control plane has not answered since. */
  isOld?: boolean;
}

/** Where a job stands: a mark and a word, so that nobody has to tell colours apart. */
export function StateMark({ state, isOld = false }: Props) {
  return (
    <span class={`state ${isOld ? "calm" : (TONES[state] ?? "calm")}`}>
      <span class="dot" aria-hidden="true" />
      {isOld ? (
        <span>
          {stateWord(state)} <small>last known</small>
        </span>
      ) : (
        stateWord(state)
      )}
    </span>
  );
}
