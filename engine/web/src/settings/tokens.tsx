import { useEffect, useRef, useState } from "preact/hooks";
import { ask, part } from "../api/client";
import type { FreshToken, Token } from "../api/types";
import { apart, instant } from "../format";
import { ProblemBox } from "../parts/problem";
import { SureButton } from "../parts/sure-button";

/** Who else is let in. */
export function Tokens({ isAdmin }: { isAdmin: boolean }) {
  const [tokens, setTokens] = useState<Token[] | null>(null);
  const [name, setName] = useState("");
  const [fresh, setFresh] = useState<FreshToken | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const isMaking = useRef(false);

  async function attempt(action: () => Promise<void>): Promise<void> {
    setError(null);
    try {
      await action();
      setTokens((await ask<{ data: Token[] }>("GET", "/tokens")).data);
    } catch (problem) {
      setError(problem as Error);
    }
  }

  useEffect(() => {
    if (isAdmin) void attempt(async () => undefined);
  }, [isAdmin]);

  return (
    <section class="panel" aria-label="Tokens" aria-busy={isAdmin && !tokens && !error}>
      <h2>Tokens</h2>
      {!isAdmin && <p class="hint">Only the administrator manages tokens.</p>}
      {isAdmin && (
        <form
          class="tools"
          onSubmit={(event) => {
            event.preventDefault();
            if (isMaking.current) return; // of a double click the second one would be refused, since the first one has made it
            isMaking.current = true;
            void attempt(async () => {
              setFresh(await ask<FreshToken>("POST", "/tokens", { body: { name: name.trim() } }));
              setName("");
            }).finally(() => (isMaking.current = false));
          }}
        >
          <label>
            Name <input required maxLength={64} pattern="[A-Za-z0-9][A-Za-z0-9._@\-]*" autocomplete="off" spellcheck={false} value={name} onInput={(event) => setName(event.currentTarget.value)} />
          </label>
          <button>Create token</button>
        </form>
      )}
      {error && <ProblemBox error={error} />}
      <div role="status">
        {fresh && (
          <p>
            The token of <strong>{fresh.name}</strong> (shown only once): <code>{fresh.token}</code>
          </p>
        )}
      </div>
      {tokens?.length === 0 && <p class="hint">No tokens yet. Create one for each user or tool.</p>}
      <ul class="plain">
        {tokens?.map((token) => (
          <li key={`${token.name} ${token.created_at}`}>
            <span>
              <strong>{token.name}</strong>
              <span class="hint">{` ${token.valid ? "valid" : "expired or revoked"}, created ${instant(token.created_at)} by ${token.created_by}${token.expires_at ? `, expires ${instant(token.expires_at)}` : ""}`}</span>
            </span>
            {token.valid && <SureButton text="Revoke" about={`the token of ${apart(token.name)}`} action={() => void attempt(() => ask("DELETE", `/tokens/${part(token.name)}`))} />}
          </li>
        ))}
      </ul>
    </section>
  );
}
