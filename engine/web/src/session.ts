/** Who looks at the page, and what he may do there. */
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Session } from "./api/types";

export const SessionContext = createContext<Session | null>(null);

/** Whether something may be changed: nothing is offered that would be refused to everybody like this one. */
export function useMayChange(): boolean {
  return useContext(SessionContext)?.may_change ?? true;
}
