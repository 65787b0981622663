import { useState } from "preact/hooks";

interface Props {
  text: string;
  /** What it is done to, for those who do not see where the button stands. */
  about: string;
  action: () => void;
}

/** Whether a click is the second of a double click: that says something once. */
export function isRepeated({ detail }: MouseEvent): boolean {
  return detail > 1;
}

/** Does what cannot be taken back, once somebody has said so twice. */
export function SureButton({ text, about, action }: Props) {
  const [isSure, setSure] = useState(false);
  return (
    <button
      type="button"
      class="danger"
      aria-label={isSure ? `${text} ${about} for good` : `${text} ${about}`}
      onBlur={() => setSure(false)}
      onClick={(event) => {
        if (isRepeated(event)) return;
        setSure(!isSure);
        if (isSure) action();
      }}
    >
      {isSure ? `${text} for good?` : text}
    </button>
  );
}
