import { useEffect, useState } from "preact/hooks";
import { ask, part } from "../api/client";
import type { FreshToken, Session, Token } from "../api/types";
import { instant } from "../format";
import { ProblemBox } from "../parts/problem";
import { useTitle } from "../title";

/** The tokens of others, and what this control plane is. */
export function Settings({ session }: { session: Session }) {
  useTitle("Settings");
  const [tokens, setTokens] = useState<Token[] | null>(null);
  const [name, setName] = useState("");
  const [fresh, setFresh] = useState<FreshToken | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const isAdmin = session.who === "admin";

  async function load(): Promise<void> {
    setTokens((await ask<{ data: Token[] }>("GET", "/tokens")).data);
  }

  async function attempt(action: () => Promise<void>): Promise<void> {
    setError(null);
    try {
      await action();
      await load();
    } catch (problem) {
      setError(problem as Error);
    }
  }

  useEffect(() => {
    if (isAdmin) void attempt(async () => undefined);
  }, [isAdmin]);

  return (
    <div class="kept">
      <div class="tools">
        <h1>Settings</h1>
      </div>
      {error && <ProblemBox error={error} />}
      <section class="panel" aria-label="Tokens" aria-busy={isAdmin && !tokens && !error}>
        <h2>Tokens</h2>
        {!isAdmin && <p class="hint">The administrator looks after tokens.</p>}
        {isAdmin && (
          <form
            class="tools"
            onSubmit={(event) => {
              event.preventDefault();
              void attempt(async () => {
                setFresh(await ask<FreshToken>("POST", "/tokens", { body: { name: name.trim() } }));
                setName("");
              });
            }}
          >
            <label>
              Name <input required maxLength={64} pattern="[A-Za-z0-9][A-Za-z0-9._@\-]*" autocomplete="off" spellcheck={false} value={name} onInput={(event) => setName(event.currentTarget.value)} />
            </label>
            <button>Make a token</button>
          </form>
        )}
        <div role="status">
          {fresh && (
            <p>
              The token of <strong>{fresh.name}</strong>, which is shown this once: <code>{fresh.token}</code>
            </p>
          )}
        </div>
        {tokens?.length === 0 && <p class="hint">Nobody else has a token.</p>}
        <ul class="plain">
          {tokens?.map((token) => (
            <li key={`${token.name} ${token.created_at}`}>
              <span>
                <strong>{token.name}</strong>
                <span class="hint">{` ${token.valid ? "valid" : "not let in"}, made ${instant(token.created_at)} by ${token.created_by}${token.expires_at ? `, ends ${instant(token.expires_at)}` : ""}`}</span>
              </span>
              {token.valid && (
                <button class="danger" aria-label={`Revoke the token of ${token.name}`} onClick={() => void attempt(() => ask("DELETE", `/tokens/${part(token.name)}`))}>
                  Revoke
                </button>
              )}
            </li>
          ))}
        </ul>
      </section>
      <section class="panel" aria-label="Version">
        <h2>Version</h2>
        <p>{`Arroyo ${session.version}`}</p>
      </section>
    </div>
  );
}
