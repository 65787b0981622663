import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

interface Props {
  title: string;
  isBusy: boolean;
  isWide?: boolean;
  close: () => void;
  submit: () => void;
  children: ComponentChildren;
}

/** Asks something before all else. The keyboard stays in it, and goes back to where it was when this is over. */
export function Dialog({ title, isBusy, isWide = false, close, submit, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const name = useId();

  useEffect(() => {
    if (isBusy) return;
    addEventListener("hashchange", close);
    return () => removeEventListener("hashchange", close);
  }, [isBusy, close]);

  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);

  return (
    <dialog ref={dialog} class={isWide ? "action wide" : "action"} aria-labelledby={name} onCancel={(event) => isBusy && event.preventDefault()} onClose={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!isBusy) submit();
        }}
      >
        <h2 id={name}>{title}</h2>
        {children}
      </form>
    </dialog>
  );
}
