import { useEffect } from "preact/hooks";
import { apart } from "./format";

/** What the window is called. */
export function useTitle(text: string): void {
  useEffect(() => {
    document.title = `${apart(text)} · Arroyo`;
  }, [text]);
}
