import { piecesOf } from "../format";

/** What the control plane says, with names of others in it: they turn nothing round, and hide nothing. */
export function Sentence({ text }: { text: string | null | undefined }) {
  return (
    <bdi dir="ltr">
      {piecesOf(text ?? "").map(({ piece, isFromTheRight }, at) => (isFromTheRight ? <bdi key={at}>{piece}</bdi> : piece))}
    </bdi>
  );
}
