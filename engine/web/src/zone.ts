/** In which zone instants are shown: UTC, until somebody chooses the browser's. */
import { useEffect, useState } from "preact/hooks";

const KEY = "arroyo-zone";
export type Zone = "UTC" | "local";

let chosen: Zone | null = null;
const changed = new EventTarget();

export function zone(): Zone {
  return (chosen ??= stored());
}

export function chooseZone(wanted: Zone): void {
  chosen = wanted;
  try {
    localStorage.setItem(KEY, wanted);
  } catch {
    // a browser that stores nothing keeps it for this page
  }
  changed.dispatchEvent(new Event("changed"));
}

/** The zone; whoever calls it is drawn again when it changes. */
export function useZone(): Zone {
  const [now, setNow] = useState(zone);
  useEffect(() => {
    const look = () => setNow(zone());
    changed.addEventListener("changed", look);
    return () => changed.removeEventListener("changed", look);
  }, []);
  return now;
}

/** What a label says of its instants. */
export function zoneName(): string {
  return zone() === "UTC" ? "UTC" : "local time";
}

/** A date as `2026-01-31 10:20:30` in the zone. */
export function spellDate(date: Date): string {
  if (zone() === "UTC") return date.toISOString().replace("T", " ").slice(0, 19);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

function stored(): Zone {
  try {
    return localStorage.getItem(KEY) === "local" ? "local" : "UTC";
  } catch {
    return "UTC";
  }
}
