import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ProblemBox } from "./problem";

/** A part of the page that is fetched when it is shown first. */
export function later<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let found: ComponentType<P> | null = null;
  return (props: P) => {
    const [part, setPart] = useState<{ of: ComponentType<P> } | Error | null>(found && { of: found });
    useEffect(() => {
      if (part !== null) return;
      load().then((loaded) => {
        found = loaded;
        setPart({ of: loaded });
      }, setPart);
    }, []);
    if (part instanceof Error) return <ProblemBox error={part} />;
    if (part === null) return <p class="empty">Loading...</p>;
    const Part = part.of;
    return <Part {...props} />;
  };
}
