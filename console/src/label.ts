// The names of consumers.
import type { Consumer } from "./api.gen.ts";

/** What a consumer is called: the name of its server, or what it is. */
export function label(c: Consumer | undefined, id: string): string {
  if (!c) return id;
  const name = c.name || c.server || c.id;
  return c.kind === "migration" ? `${name} (moving)` : name;
}
