import { useEffect } from "preact/hooks";

/** What the window is called. */
export function useTitle(text: string): void {
  useEffect(() => {
    document.title = `${text} · Arroyo`;
  }, [text]);
}
