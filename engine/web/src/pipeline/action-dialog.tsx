import { useEffect, useRef, useState } from "preact/hooks";
import { Refused } from "../api/client";
import type { Effects } from "../api/types";
import { duration } from "../format";
import { ProblemBox } from "../parts/problem";
import { type Action, type Values, spell } from "./actions";

const PAUSE = 250;

interface Props {
  action: Action;
  close: () => void;
  done: (action: Action) => void;
}

/** Asks what an action would do, shows it, and does it when somebody says so. */
export function ActionDialog({ action, close, done }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [values, setValues] = useState<Values>(() => Object.fromEntries(action.fields.map(({ name, value }) => [name, value])));
  const [effects, setEffects] = useState<Effects | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [isBusy, setBusy] = useState(false);

  useEffect(() => {
    dialog.current?.showModal();
  }, []);

  useEffect(() => {
    let isOld = false;
    setEffects(null);
    const timer = setTimeout(() => {
      action.send(values, true).then(
        (answer) => {
          if (isOld) return;
          setEffects(answer as Effects);
          setError(null);
        },
        (problem: Error) => isOld || setError(problem),
      );
    }, PAUSE);
    return () => {
      isOld = true;
      clearTimeout(timer);
    };
  }, [values]);

  async function doIt(): Promise<void> {
    setBusy(true);
    try {
      await action.send(values, false);
      done(action);
    } catch (problem) {
      setError(problem as Error);
      setBusy(false);
    }
  }

  return (
    <dialog ref={dialog} class="action" aria-labelledby="action-title" onClose={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (effects !== null && !isBusy) void doIt();
        }}
      >
        <h2 id="action-title">{action.title}</h2>
        <p class="hint">{action.about}</p>
        {action.fields.map((field) => {
          const value = values[field.name] ?? "";
          const set = (text: string) => setValues({ ...values, [field.name]: text });
          return (
            <p key={field.name} class="field">
              {field.kind === "check" ? (
                <label>
                  <input type="checkbox" checked={value === "yes"} onChange={(event) => set(event.currentTarget.checked ? "yes" : "")} /> {field.label}
                </label>
              ) : (
                <label>
                  <span>{field.label}</span>
                  {field.kind === "choice" ? (
                    <select value={value} onChange={(event) => set(event.currentTarget.value)}>
                      {field.choices?.map(([choice, text]) => (
                        <option key={choice} value={choice}>
                          {text}
                        </option>
                      ))}
                    </select>
                  ) : (
                    <input type="text" inputMode={field.kind === "number" ? "numeric" : "text"} value={value} onInput={(event) => set(event.currentTarget.value)} />
                  )}
                </label>
              )}
            </p>
          );
        })}
        <div class="effects" aria-live="polite" aria-busy={effects === null && error === null}>
          {effects && <EffectList effects={effects} />}
          {error && <ProblemBox error={error} />}
          {!effects && !error && <p class="hint">Asking what it would do.</p>}
        </div>
        <p class="buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button class={action.isDangerous ? "primary danger" : "primary"} disabled={effects === null || isBusy || error instanceof Refused}>
            {action.confirm}
          </button>
        </p>
      </form>
    </dialog>
  );
}

/** What would happen. */
export function EffectList({ effects }: { effects: Effects }) {
  return (
    <dl>
      {spell(effects, duration).map(({ text, items, isBad }) => (
        <div key={text} class={isBad ? "bad" : ""}>
          <dt>{text}</dt>
          {items.map((item, at) => (
            <dd key={at}>{item}</dd>
          ))}
        </div>
      ))}
      {effects.upgrade && (
        <div>
          <dt>What becomes of the state</dt>
          <dd>
            <pre>{effects.upgrade.text}</pre>
          </dd>
        </div>
      )}
    </dl>
  );
}
