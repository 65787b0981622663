import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { changes } from "../api/changes";
import type { Session } from "../api/types";
import { type Route, editorPath } from "../router";
import { type Theme, chooseTheme, theme } from "../theme";
import { chooseZone, zone, zoneName } from "../zone";
import { keepFocus } from "./focus";
import { Toasts } from "./toast";

const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const SIGNS: Record<Theme, string> = { system: "◐", light: "☀", dark: "☾" };

interface Props {
  session: Session;
  route: Route;
  leave: () => void;
  children: ComponentChildren;
}

/** What is around every page. */
export function Shell({ session, route, leave, children }: Props) {
  const [chosen, setChosen] = useState(theme);
  const main = useRef<HTMLElement>(null);
  useEffect(() => keepFocus(main.current!), []);
  useChanges();
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <header class="bar">
        <a class="brand" href="#/">
          Arroyo
        </a>
        <nav aria-label="Pages">
          <a href="#/" aria-current={route.page === "jobs" || route.page === "pipeline" ? "page" : undefined}>
            Jobs
          </a>
          {session.may_change !== false && (
            <a href={editorPath()} aria-current={route.page === "editor" ? "page" : undefined}>
              Editor
            </a>
          )}
          <a href="#/connections" aria-current={route.page === "connections" ? "page" : undefined}>
            Connections
          </a>
          <a href="#/settings" aria-current={route.page === "settings" ? "page" : undefined}>
            Settings
          </a>
          {!session.through && (
            <a href="docs" target="_blank" rel="noopener">
              API
            </a>
          )}
        </nav>
        <span class="grow" />
        <span class="who" title={`Arroyo ${session.version}`}>
          {session.who}
          {session.through && ` through ${session.through}`}
        </span>
        <button class="quiet" aria-label={`Times: ${zoneName()}. Change`} title="Show times in UTC or in your own time zone" onClick={() => chooseZone(zone() === "UTC" ? "local" : "UTC")}>
          {zone() === "UTC" ? "UTC" : "Local"}
        </button>
        <button
          class="quiet"
          aria-label={`Theme: ${chosen}. Change to ${NEXT[chosen]}`}
          title={`Theme: ${chosen}`}
          onClick={() => {
            chooseTheme(NEXT[chosen]);
            setChosen(NEXT[chosen]);
          }}
        >
          <span aria-hidden="true">{SIGNS[chosen]}</span>
        </button>
        {!session.through && (
          <button class="quiet" onClick={leave}>
            Log out
          </button>
        )}
      </header>
      <main ref={main} id="main" tabIndex={-1}>
        {children}
      </main>
      <Toasts />
    </div>
  );
}

/** Keeps the stream of changes open from page to page, as long as somebody looks. */
function useChanges(): void {
  useEffect(() => {
    const leave = changes.subscribe(() => undefined);
    const look = () => changes.look();
    document.addEventListener("visibilitychange", look);
    return () => {
      document.removeEventListener("visibilitychange", look);
      leave();
    };
  }, []);
}

function skip(event: Event): void {
  event.preventDefault(); // what stands behind the # is the page
  document.getElementById("main")?.focus();
}
