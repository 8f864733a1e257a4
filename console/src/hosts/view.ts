// What of the table of hosts is shown, as the address says it.
import { fraction } from "../amounts.ts";
import type { Host, Table } from "../cloud.ts";

/** What is shown of the hosts, and how. */
export interface View {
  readonly text: string;
  readonly zone: string;
  readonly aggregate: string;
  /** What the hosts have to have, of a search: "trait:HW_CPU_X86_AVX2"; "" for nothing. */
  readonly with: string;
  readonly map: boolean;
  /** The classes whose fractions colour the map. */
  readonly first: string;
  readonly second: string;
  /** A class, "name", "zone", "state" or "providers"; with a minus in the other direction. */
  readonly sort: string;
}

/** The view that a query names. */
export function choose(query: URLSearchParams): View {
  const get = (key: string) => query.get(key) ?? "";
  return {
    text: get("q"),
    zone: get("zone"),
    aggregate: get("aggregate"),
    with: get("with"),
    map: get("view") === "map",
    first: get("class") || "VCPU",
    second: get("second"),
    sort: get("sort") || "name",
  };
}

// The classes that are looked at first, in this order; others follow by their names.
const wellKnown = [
  "VCPU", "PCPU", "MEMORY_MB", "DISK_GB", "NET_BW_EGR_KILOBIT_PER_SEC", "NET_BW_IGR_KILOBIT_PER_SEC", "VGPU",
];

/** The classes of a table, the well-known ones first. */
export function classesOf(table: Table): string[] {
  const rank = (name: string) => (wellKnown.indexOf(name) + wellKnown.length + 1) % (wellKnown.length + 1);
  return [...table.classes].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

/** The hosts of a view, in its order, of those with some ids; undefined for all. */
export function filtered(table: Table, view: View, ids: ReadonlySet<string> | undefined): Host[] {
  const text = view.text.trim().toLowerCase();
  const hosts = table.hosts.filter((host) =>
    (view.zone === "" || host.zone === view.zone) &&
    (view.aggregate === "" || host.aggregates.includes(view.aggregate)) &&
    (ids === undefined || ids.has(host.id)) &&
    (text === "" || host.name.toLowerCase().includes(text) || host.id.startsWith(text))
  );
  const descending = view.sort.startsWith("-");
  const key = keyOf(table, descending ? view.sort.slice(1) : view.sort);
  if (!key) return descending ? hosts.reverse() : hosts;
  const keys = new Map(hosts.map((host) => [host, key(host)]));
  const order = descending ? -1 : 1;
  return hosts.sort((a, b) => {
    const [x, y] = [keys.get(a)!, keys.get(b)!];
    return x < y ? -order : x > y ? order : 0;
  });
}

// What hosts are sorted by; undefined for their names, by which they are sorted already.
function keyOf(table: Table, by: string): ((host: Host) => string | number) | undefined {
  switch (by) {
    case "name":
      return undefined;
    case "zone":
      return (host) => host.zone;
    case "state":
      return (host) => host.state;
    case "providers":
      return (host) => host.providers;
  }
  const k = table.classes.indexOf(by);
  return k < 0 ? undefined : (host) => fraction(host.used[k] ?? 0, host.capacity[k] ?? 0) ?? -1;
}
