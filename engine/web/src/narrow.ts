import { useEffect, useMemo, useState } from "preact/hooks";

/** Whether the window is as narrow as a telephone's. */
export function useNarrow(): boolean {
  const query = useMemo(() => matchMedia("(max-width: 860px)"), []);
  const [narrow, setNarrow] = useState(query.matches);
  useEffect(() => {
    const changed = () => setNarrow(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);
  return narrow;
}
