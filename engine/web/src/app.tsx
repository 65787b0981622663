import { useEffect, useRef, useState } from "preact/hooks";
import { Refused, Unreachable, ask, signedOut } from "./api/client";
import { rest } from "./api/polled";
import type { Session, Visitor } from "./api/types";
import { later } from "./parts/later";
import { forgetAll, openFor } from "./editor/draft";
import { Shell } from "./parts/shell";
import { clearToasts } from "./parts/toast";
import { ProblemBox } from "./parts/problem";
import { Jobs } from "./pages/jobs";
import { Login } from "./pages/login";
import { useRoute } from "./router";
import { useZone } from "./zone";
import { SessionContext } from "./session";

const Connections = later(() => import("./pages/connections").then((module) => module.Connections));
const Settings = later(() => import("./pages/settings").then((module) => module.Settings));
const Editor = later(() => import("./pages/editor").then((module) => module.Editor));
const Fork = later(() => import("./pages/fork").then((module) => module.Fork));
const Pipeline = later(() => import("./pages/pipeline").then((module) => module.Pipeline));

/** Who it is: a name of Airflow's is another one than that of a token. */
function nameOf({ through, who }: Session): string {
  return JSON.stringify([through ?? null, who]);
}

/** What may pass by itself: nobody answers, or nobody does to whom the question was passed on. */
function mayPass(error: Error): boolean {
  return error instanceof Unreachable || (error instanceof Refused && error.status >= 500);
}

type Entry = "asking" | "outside" | Session | Error;

export function App() {
  const route = useRoute();
  useZone();
  const [code, setCode] = useState(route.page === "login" ? route.code : null);
  const [entry, setEntry] = useState<Entry>(code === null ? "asking" : "outside");
  const isPassed = useRef(false);
  const isLeaving = useRef(false);
  const failures = useRef(0);
  const goesOn = entry instanceof Error && mayPass(entry) && !isLeaving.current;

  useEffect(() => {
    const left = () => setEntry(isPassed.current ? "asking" : "outside"); // who passes it on says what to do
    signedOut.addEventListener("signedout", left);
    return () => signedOut.removeEventListener("signedout", left);
  }, []);

  useEffect(() => {
    if (route.page !== "login") return;
    setCode(route.code);
    setEntry("outside");
    location.replace("#/"); // used or not, the code is of no use to anybody who reads the address
  }, [route]);

  useEffect(() => {
    if (entry === "asking") lookIn();
    if (!goesOn) return;
    const timer = window.setTimeout(lookIn, rest(1_000, 0, failures.current++));
    return () => clearTimeout(timer);
  }, [entry]);

  useEffect(() => {
    if (typeof entry === "string" || entry instanceof Error) return;
    // all tabs have one session: another one may have let in somebody else, who would be told to be the one before
    const look = () =>
      void ask<Visitor>("GET", "/session").then(
        ({ session }) => (!session ? setEntry("outside") : nameOf(session) !== nameOf(entry) && enter(session)),
        () => undefined, // what is shown next says so
      );
    addEventListener("focus", look);
    return () => removeEventListener("focus", look);
  }, [entry]);

  function lookIn(): void {
    ask<Visitor>("GET", "/session").then(({ session }) => {
      isPassed.current = Boolean(session?.through);
      if (session) enter(session);
      else setEntry("outside");
    }, setEntry);
  }

  function enter(session: Session): void {
    isLeaving.current = false;
    failures.current = 0;
    openFor(nameOf(session));
    setCode(null);
    setEntry(session);
  }

  if (entry === "asking") return <main class="login" aria-busy="true" />;
  if (entry === "outside") return <Login key={code} code={code} entered={enter} />;
  if (entry instanceof Error)
    return (
      <main class="login">
        <ProblemBox error={entry} />
        {goesOn && <p class="hint">Reconnecting...</p>}
        <button onClick={() => setEntry("asking")}>Try again</button>
      </main>
    );

  async function leave(): Promise<void> {
    isLeaving.current = true;
    try {
      await ask("DELETE", "/session");
    } catch (problem) {
      if (!(problem instanceof Refused && problem.status === 401)) return setEntry(problem as Error); // still let in
    }
    forgetAll();
    clearToasts();
    setEntry("outside");
  }

  return (
    <SessionContext.Provider value={entry}>
      <Shell key={nameOf(entry)} session={entry} route={route} leave={() => void leave()}>
        {route.page === "pipeline" ? (
          <Pipeline key={route.name} name={route.name} shownPart={route.part} />
        ) : route.page === "editor" && entry.may_change === false ? (
          <p class="empty">You have read-only access.</p>
        ) : route.page === "editor" ? (
          route.pipeline !== null && route.isFork ? (
            <Fork key={`fork of ${route.pipeline} ${route.savepoint}`} pipeline={route.pipeline} wanted={route.savepoint} />
          ) : (
            <Editor key={route.pipeline ?? `example ${route.example}`} pipeline={route.pipeline} example={route.example} />
          )
        ) : route.page === "connections" ? (
          <Connections />
        ) : route.page === "settings" ? (
          <Settings session={entry} />
        ) : (
          <Jobs />
        )}
      </Shell>
    </SessionContext.Provider>
  );
}
