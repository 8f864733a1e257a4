// A bar that says how much of a capacity is used.
import { fraction, percent, usage } from "./amounts.ts";

/** The level of a fraction, for its colour: "empty", "low", "middle", "high", "full". */
export function level(part: number | undefined): string {
  if (part === undefined) return "none";
  if (part >= 1) return "full";
  if (part >= 0.9) return "high";
  if (part >= 0.6) return "middle";
  return part > 0 ? "low" : "empty";
}

/** A bar with its numbers: what is used of a capacity of a class. */
export function Bar({ used, capacity, name }: { used: number; capacity: number; name: string }) {
  const part = fraction(used, capacity);
  if (part === undefined) return <span class="quiet">–</span>;
  return (
    <span class="amount" title={`${usage(used, capacity, name)} (${percent(part)})`}>
      <span class={`bar-track ${level(part)}`} aria-hidden="true">
        <span style={{ inlineSize: `${Math.min(100, 100 * part)}%` }} />
      </span>
      <span class="amount-text">{usage(used, capacity, name)}</span>
    </span>
  );
}
