/** The last figures as a small line. */
export function linePath(values: readonly number[], width: number, height: number): string {
  if (values.length < 2) return "";
  const most = Math.max(...values, Number.MIN_VALUE);
  const step = width / (values.length - 1);
  return values.map((value, at) => `${at === 0 ? "M" : "L"}${(at * step).toFixed(1)} ${(height - (value / most) * height).toFixed(1)}`).join("");
}

export function Sparkline({ values }: { values: readonly number[] }) {
  return (
    <svg class="sparkline" viewBox="-1 -1 62 18" width="62" height="18" aria-hidden="true">
      <path d={linePath(values, 60, 16)} />
    </svg>
  );
}
