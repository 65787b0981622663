import { Refused } from "../api/client";
import { adviceOf } from "./advice";
import { Sentence } from "./sentence";

/** Stands below a problem where what was answered before it is still shown. */
export const BEFORE = "Showing the last known data. Reconnecting...";

/** What went wrong, with what to do about it, which may be in one of the fields of a form. */
export function ProblemBox({ error, fields = [] }: { error: Error; fields?: readonly { name: string; label: string }[] }) {
  const refused = error instanceof Refused ? error : null;
  const advice = refused && adviceOf(refused, fields);
  return (
    <div class="problem" role="alert">
      <p>
        {refused && <code>{refused.code}</code>} <Sentence text={error.message} />
      </p>
      {advice && (
        <p class="hint">
          <Sentence text={advice} />
        </p>
      )}
      {refused && refused.complaints.length > 1 && (
        <ul>
          {refused.complaints.map((complaint, index) => (
            <li key={index}>
              {complaint.span && `line ${complaint.span.start.line}, column ${complaint.span.start.column}: `}
              <Sentence text={complaint.message} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
