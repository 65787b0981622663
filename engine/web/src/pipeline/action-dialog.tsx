import { useEffect, useRef, useState } from "preact/hooks";
import { Refused, Unreachable } from "../api/client";
import type { Effects, UpgradePlan } from "../api/types";
import { duration } from "../format";
import { Dialog } from "../parts/dialog";
import { ProblemBox } from "../parts/problem";
import { Sentence } from "../parts/sentence";
import { type Action, type Values, faultOf, isConfirmed, spell } from "./actions";
import { type Consent, NOTHING_SAID } from "./consent";
import { follow } from "./follow";
import { PlanTable } from "./plan-table";
import { SqlDiff } from "./sql-diff";

const PAUSE = 250;
/** When to ask again whether the control plane is back. */
const AGAIN = 3_000;

interface Props {
  action: Action;
  close: () => void;
  done: (action: Action) => void;
}

/** Asks what an action would do, shows it, and does it when somebody says so. */
export function ActionDialog({ action, close, done }: Props) {
  const [values, setValues] = useState<Values>(() => Object.fromEntries(action.fields.map(({ name, value }) => [name, value])));
  const [consent, setConsent] = useState<Consent>(NOTHING_SAID);
  const [effects, setEffects] = useState<Effects | null>(null);
  const [plan, setPlan] = useState<UpgradePlan | null>(null);
  const [error, setError] = useState<Error | null>(null);
  /** Why these values would change nothing. */
  const [unchanged, setUnchanged] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  /** How often it was sent and nobody has said whether it was done. */
  const [unsure, setUnsure] = useState(0);
  const before = useScript(action, plan !== null);
  const isSent = useRef(false);
  const isGone = useRef(false); // somebody went to another page while it was done
  useEffect(() => () => void (isGone.current = true), []);

  useEffect(() => {
    let isOld = false;
    setEffects(null);
    const fault = faultOf(action, values);
    if (fault !== null) return setError(new Error(fault));
    const why = action.noChange?.(values) ?? null;
    setUnchanged(why);
    if (why !== null) return setError(null);
    let timer = setTimeout(look, PAUSE);
    function look(): void {
      action.send(values, true, consent).then(
        (answer) => {
          if (isOld) return;
          setEffects(answer as Effects);
          setPlan((answer as Effects).upgrade ?? null);
          setError(null);
        },
        (problem: Error) => {
          if (isOld) return;
          refused(problem);
          if (problem instanceof Unreachable) timer = setTimeout(look, AGAIN);
        },
      );
    }
    return () => {
      isOld = true;
      clearTimeout(timer);
    };
  }, [values, consent, unsure]);

  /** What was accepted may have become another plan meanwhile, and is shown anew. */
  function refused(problem: Error): void {
    setError(problem);
    if (problem instanceof Refused && problem.plan !== null) setPlan(problem.plan);
  }

  async function doIt(): Promise<void> {
    if (isSent.current) return; // a second click may come before the first one is drawn
    isSent.current = true;
    setBusy(true);
    try {
      void follow(action, await action.send(values, false, consent));
      if (!isGone.current) done(action);
    } catch (problem) {
      setEffects(null);
      refused(problem as Error);
      if (problem instanceof Unreachable) setUnsure(unsure + 1);
      isSent.current = false;
      setBusy(false);
    }
  }

  return (
    <Dialog title={action.title} isBusy={isBusy} isWide={plan !== null} close={close} submit={() => void (effects !== null && isConfirmed(action, values) && doIt())}>
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
        {plan && action.change && before !== null && <SqlDiff before={before} after={action.change.after} />}
        {plan && <PlanTable plan={plan} consent={action.change ? consent : null} changed={setConsent} />}
        {plan && action.change && <Acceptance plan={plan} consent={consent} changed={setConsent} />}
        {unsure > 0 && <p role="status">The request was sent, but no response came: it may have been applied. The effects below are those of sending it again.</p>}
        <div class="effects" aria-live="polite" aria-busy={effects === null && error === null && unchanged === null}>
          {effects && <EffectList effects={effects} isAtRest={action.isAtRest ?? false} />}
          {unchanged !== null && error === null && <p class="hint">{unchanged}</p>}
          {error && <Complaint error={error} plan={plan} action={action} />}
          {!effects && !error && unchanged === null && <p class="hint">Checking the effects...</p>}
        </div>
        <p class="buttons">
          <button type="button" disabled={isBusy} onClick={close}>
            Cancel
          </button>
          <button class={action.isDangerous ? "primary danger" : "primary"} disabled={effects === null || isBusy || error instanceof Refused || !isConfirmed(action, values)}>
            {action.confirm}
          </button>
        </p>
    </Dialog>
  );
}

/** What would happen. */
export function EffectList({ effects, isAtRest = false }: { effects: Effects; isAtRest?: boolean }) {
  return (
    <dl>
      {spell(effects, duration, isAtRest).map(({ text, items, isBad }) => (
        <div key={text} class={isBad ? "bad" : ""}>
          <dt>{text}</dt>
          {items.map((item, at) => (
            <dd key={at}>
              <Sentence text={item} />
            </dd>
          ))}
        </div>
      ))}
    </dl>
  );
}

/** Whether what the plan says is lost may be lost. Another plan is accepted anew. */
function Acceptance({ plan, consent, changed }: { plan: UpgradePlan; consent: Consent; changed: (consent: Consent) => void }) {
  if (plan.is_refused || plan.loses_nothing || plan.id === null) return null;
  return (
    <label class="choice bad">
      <input type="checkbox" checked={consent.accept_loss === plan.id} onChange={(event) => changed({ ...consent, accept_loss: event.currentTarget.checked ? plan.id : null })} /> Accept the loss of state that the plan lists
    </label>
  );
}

/** Why it is not done. A plan that is shown needs no words again. */
function Complaint({ error, plan, action }: { error: Error; plan: UpgradePlan | null; action: Action }) {
  if (plan === null || !(error instanceof Refused) || error.plan === null) return <ProblemBox error={error} fields={action.fields} />;
  return (
    <div class="problem" role="alert">
      <p>
        <code>{error.code}</code>{" "}
        {plan.is_refused ? "The query cannot use the existing state: choose above which state to discard, or change the query." : "State would be lost. Accept the loss above to continue."}
      </p>
    </div>
  );
}

/** The script that another one is to take the place of, once somebody wants to see both. */
function useScript({ change }: Action, isWanted: boolean): string | null {
  const [text, setText] = useState<string | null>(null);
  useEffect(() => {
    if (!isWanted || !change) return;
    let isOld = false;
    change.before().then(
      (found) => isOld || setText(found),
      () => undefined, // the plan says what matters
    );
    return () => {
      isOld = true;
    };
  }, [isWanted]);
  return text;
}
