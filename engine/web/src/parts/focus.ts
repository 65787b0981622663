/** A keyboard goes on where it was: when what has the focus goes, something near that stays takes it. */

const REACHABLE = "button:not(:disabled), a[href], input:not([hidden]):not(:disabled), select:not(:disabled), textarea, summary";

/** Looks after all that is in a box, until the answer is called. */
export function keepFocus(box: HTMLElement): () => void {
  let trail: Element[] = [];
  const came = ({ target }: FocusEvent): void => {
    trail = target instanceof Element && box.contains(target) ? above(target, box) : [];
  };
  const left = ({ target, relatedTarget }: FocusEvent): void => {
    if (relatedTarget !== null) return;
    // what goes is told of before it has gone: only what is still there was left on purpose
    queueMicrotask(() => {
      if (target instanceof Element && target.isConnected && document.activeElement !== target) trail = [];
    });
  };
  const watch = new MutationObserver(() => {
    if (trail.length === 0 || trail[0]!.isConnected || !isNowhere()) return;
    const nearest = trail.find((each) => each.isConnected && box.contains(each)) ?? box;
    const next = nearest === box ? null : nearest.querySelector<HTMLElement>(REACHABLE);
    (next ?? box).focus({ preventScroll: next === null });
  });
  document.addEventListener("focusin", came);
  document.addEventListener("focusout", left);
  watch.observe(box, { childList: true, subtree: true });
  return () => {
    document.removeEventListener("focusin", came);
    document.removeEventListener("focusout", left);
    watch.disconnect();
  };
}

/** An element and what it is in, up to the box and with it. */
function above(element: Element, box: HTMLElement): Element[] {
  const found: Element[] = [];
  for (let each: Element | null = element; each !== null; each = each === box ? null : each.parentElement) found.push(each);
  return found;
}

function isNowhere(): boolean {
  return document.activeElement === null || document.activeElement === document.body;
}
