import { Refused } from "../api/client";

/** Stands below a problem where what was answered before it is still shown. */
export const BEFORE = "What is shown here was answered before that, and may not hold any more. The page goes on asking.";

/** What went wrong, with what to do about it. */
export function ProblemBox({ error }: { error: Error }) {
  const refused = error instanceof Refused ? error : null;
  return (
    <div class="problem" role="alert">
      <p>
        {refused && <code>{refused.code}</code>} {error.message}
      </p>
      {refused?.hint && <p class="hint">{refused.hint}</p>}
      {refused && refused.complaints.length > 1 && (
        <ul>
          {refused.complaints.map((complaint, index) => (
            <li key={index}>
              {complaint.span && `line ${complaint.span.start.line}, column ${complaint.span.start.column}: `}
              {complaint.message}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
