import type { UpgradePlan } from "../api/types";
import { bytes, count } from "../format";
import { Sentence } from "../parts/sentence";
import { type Choice, type Consent, type Verdict, changeWord, choicesOf, choose, inWordsOf, isChosen, spellChoice, verdictsOf } from "./consent";

interface Props {
  plan: UpgradePlan;
  /** What was said so far; null where there is nothing to choose. */
  consent: Consent | null;
  changed: (consent: Consent) => void;
}

/** What becomes of each source, operator and sink, and what can be said about it. */
export function PlanTable({ plan, consent, changed }: Props) {
  const verdicts = verdictsOf(plan);
  if (verdicts.length === 0) return null;
  const choices = consent && choicesOf(verdicts, consent);
  const box = (choice: Choice) =>
    consent && (
      <label key={`${choice.way} ${choice.name}`} class="choice">
        <input type="checkbox" checked={isChosen(consent, choice)} onChange={(event) => changed(choose(consent, choice, event.currentTarget.checked))} /> <Sentence text={spellChoice(choice)} />
      </label>
    );
  return (
    <section class="plan">
      <h3>State</h3>
      <div class="overflow" tabIndex={0} role="group" aria-label="State">
        <table role="table">
          <thead role="rowgroup">
            <tr role="row">
              <th role="columnheader" scope="col">
                Part of the query
              </th>
              <th role="columnheader" scope="col">
                Effect
              </th>
              <th role="columnheader" scope="col">
                Reason
              </th>
            </tr>
          </thead>
          <tbody role="rowgroup">
            {verdicts.map((verdict, at) => (
              <tr role="row" key={at} class={verdict.change === "REFUSED" || verdict.loses ? "bad" : verdict.change === "SAME" ? "same" : ""}>
                <td role="cell">
                  <span class="hint">{verdict.subject}</span> <bdi class="mono">{verdict.name}</bdi>
                </td>
                <td role="cell" class="becomes">
                  {changeWord(verdict.change)}
                  {verdict.loses && <strong>: lost</strong>}
                </td>
                <td role="cell">
                  {[kept(verdict), choices ? inWordsOf(choices, verdict.reason) : verdict.reason, verdict.shown].filter(Boolean).map((text) => (
                    <p key={text}>
                      <Sentence text={text} />
                    </p>
                  ))}
                  {choices?.at[at]?.map(box)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {choices?.others.map(box)}
    </section>
  );
}

function kept({ rows, bytes: size }: Verdict): string {
  if (size === null || size === undefined) return "";
  return `${rows === null ? "Unknown number of" : count(rows)} rows in ${bytes(size)} of state`;
}
