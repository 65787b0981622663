import type { ComponentChildren } from "preact";

interface Props {
  label: string;
  tabs: readonly { name: string; text: string }[];
  chosen: string;
  choose: (name: string) => void;
  children: ComponentChildren;
}

const STEPS: Readonly<Record<string, (at: number, count: number) => number>> = {
  ArrowRight: (at, count) => (at + 1) % count,
  ArrowLeft: (at, count) => (at + count - 1) % count,
  Home: () => 0,
  End: (_, count) => count - 1,
};

/** One of several things at a time; arrows go from tab to tab. */
export function Tabs({ label, tabs, chosen, choose, children }: Props) {
  function key(event: KeyboardEvent): void {
    const step = STEPS[event.key];
    if (!step) return;
    event.preventDefault();
    const at = step(Math.max(0, tabs.findIndex(({ name }) => name === chosen)), tabs.length);
    choose(tabs[at]!.name);
    (event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("[role=tab]")[at]!.focus();
  }

  return (
    <>
      {tabs.length > 0 && (
        <div class="tabs" role="tablist" aria-label={label} onKeyDown={key}>
          {tabs.map(({ name, text }) => (
            <button key={name} class="quiet" role="tab" aria-selected={name === chosen} tabIndex={name === chosen ? 0 : -1} onClick={() => choose(name)}>
              {text}
            </button>
          ))}
        </div>
      )}
      <div class="tabbed" {...(tabs.length > 0 ? { role: "tabpanel", "aria-label": chosen } : {})}>
        {children}
      </div>
    </>
  );
}
