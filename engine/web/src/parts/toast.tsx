import { useEffect, useState } from "preact/hooks";
import { Sentence } from "./sentence";

export interface Toast {
  id: number;
  text: string;
  isBad: boolean;
}

/** How long a success stays. A failure stays until somebody closes it. */
const SHOWN_FOR = 8_000;
const MOST = 5;

let toasts: readonly Toast[] = [];
let last = 0;
const changed = new EventTarget();

function show(next: readonly Toast[]): void {
  toasts = next;
  changed.dispatchEvent(new Event("changed"));
}

/** Show how something ended, on whatever page somebody is by then. */
export function toast(text: string, isBad = false): void {
  const id = ++last;
  show([...toasts, { id, text, isBad }].slice(-MOST));
  if (!isBad) setTimeout(() => close(id), SHOWN_FOR);
}

function close(id: number): void {
  show(toasts.filter((each) => each.id !== id));
}

/** Forget all messages: they are for the one who acted. */
export function clearToasts(): void {
  show([]);
}

/** The messages, newest last. */
export function Toasts() {
  const [shown, setShown] = useState(toasts);
  useEffect(() => {
    const look = () => setShown(toasts);
    look();
    changed.addEventListener("changed", look);
    return () => changed.removeEventListener("changed", look);
  }, []);
  return (
    <div class="toasts" role="status" aria-label="Notifications" aria-live="polite">
      {shown.map(({ id, text, isBad }) => (
        <div key={id} class={isBad ? "toast bad" : "toast"}>
          <span>
            <Sentence text={text} />
          </span>
          <button class="quiet" aria-label="Dismiss" onClick={() => close(id)}>
            ×
          </button>
        </div>
      ))}
    </div>
  );
}
