import { useEffect, useState } from "preact/hooks";
import { ask } from "../api/client";
import type { Session } from "../api/types";
import { ProblemBox } from "../parts/problem";

/** Lets somebody in with a token, or with the code of a one-time link. */
export function Login({ code, entered }: { code: string | null; entered: (session: Session) => void }) {
  const [token, setToken] = useState("");
  const [error, setError] = useState<Error | null>(null);
  const [busy, setBusy] = useState(code !== null);

  async function enter(body: { token: string } | { code: string }): Promise<void> {
    setBusy(true);
    setError(null);
    try {
      entered(await ask<Session>("POST", "/session", { body }));
    } catch (problem) {
      setError(problem as Error);
      setBusy(false);
    }
  }

  useEffect(() => {
    if (code === null) return;
    void enter({ code });
  }, [code]);

  return (
    <main class="login">
      <h1>Arroyo</h1>
      <p>
        Run <code>arroyo ui</code> on the machine of the control plane to log in without a token. Or enter a token. The first
        one is in the file <code>token</code> in the data directory.
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void enter({ token: token.trim() });
        }}
      >
        <input type="text" name="username" autocomplete="username" value="token" hidden readOnly />
        <label for="token">Token</label>
        <input
          id="token"
          type="password"
          autocomplete="current-password"
          required
          autofocus
          value={token}
          onInput={(event) => setToken(event.currentTarget.value)}
        />
        <button class="primary" disabled={busy}>
          {busy ? "Logging in..." : "Log in"}
        </button>
      </form>
      {error && <ProblemBox error={error} />}
    </main>
  );
}
