// The table of hosts, which is read once and then changed by the stream of events.
import { computed, signal } from "@preact/signals";
import type { Change, Hosts, HostsChange, Outage } from "./api.gen.ts";
import { type Failure, follow, get, type Stream } from "./api.ts";

/** A host: a tree of providers. Amounts are sums over the tree, in the order of Table.classes. */
export interface Host {
  readonly id: string;
  readonly name: string;
  readonly zone: string;
  /** "up", "down", "disabled", "sharing", or "" when it is not known. */
  readonly state: string;
  readonly providers: number;
  readonly aggregates: readonly string[];
  readonly capacity: readonly number[];
  readonly used: readonly number[];
}

/** All hosts at a moment, by name. */
export interface Table {
  readonly time: string;
  readonly classes: readonly string[];
  readonly hosts: readonly Host[];
  readonly aggregateNames: Readonly<Record<string, string>>;
  readonly unread: readonly string[];
}

/** The table, undefined until it is read. */
export const table = signal<Table | undefined>(undefined);

/** Why the table could not be read. */
export const failure = signal<Failure | undefined>(undefined);

/** Why the service cannot read the cloud: the table shows what it was before. "" when it can. */
export const outage = signal("");

/** The ids of the hosts that the last event has changed. Pages about one of them read it again. */
export const changed = signal<ReadonlySet<string>>(new Set());

/** The last changes that the stream has reported, the newest first. */
export const history = signal<readonly Change[]>([]);

const longestHistory = 200;

const stream = signal<Stream | undefined>(undefined);

/** Whether changes arrive: "connecting", "connected", "lost". */
export const connection = computed(() => stream.value?.state.value ?? "connecting");

/** Reads the table and follows its changes. Each call begins anew. */
export async function loadTable(): Promise<void> {
  stream.value?.close();
  stream.value = undefined;
  const answer = await get<Hosts>("hosts");
  if (!answer.ok) {
    failure.value = answer.failure;
    return;
  }
  failure.value = undefined;
  outage.value = "";
  table.value = fromColumns(answer.value);
  requestAnimationFrame(() => performance.mark("hosts shown"));
  stream.value = follow(`events?after=${answer.value.number}`, (event) => {
    switch (event.name) {
      case "hosts":
        apply(JSON.parse(event.data) as HostsChange);
        break;
      case "outage":
        outage.value = (JSON.parse(event.data) as Outage).detail;
        break;
      case "reset":
        void loadTable();
        break;
      // After "end" the stream is made again: it says whether the session has ended, and is resumed after a login.
    }
  });
}

function fromColumns(c: Hosts): Table {
  const at = (column: readonly (readonly number[])[], i: number) => column.map((values) => values[i] ?? 0);
  const hosts = c.id.map((id, i) => ({
    id,
    name: c.name[i] ?? "",
    zone: c.zone[i] ?? "",
    state: c.state[i] ?? "",
    providers: c.providers[i] ?? 0,
    aggregates: (c.aggregates[i] ?? []).map((k) => c.aggregate_ids[k] ?? ""),
    capacity: at(c.capacity, i),
    used: at(c.used, i),
  })).sort(byName);
  return { time: c.time, classes: c.classes, hosts, aggregateNames: c.aggregate_names, unread: c.unread };
}

function apply(change: HostsChange): void {
  const before = table.value;
  if (!before) return;
  const classes = [...before.classes];
  for (const row of change.changed) {
    for (const name of Object.keys(row.capacity)) if (!classes.includes(name)) classes.push(name);
  }
  const hosts = new Map(before.hosts.map((host) => [host.id, host]));
  history.value = [...change.log.toReversed(), ...history.peek()].slice(0, longestHistory);
  for (const id of change.removed) hosts.delete(id);
  for (const row of change.changed) {
    hosts.set(row.id, {
      id: row.id,
      name: row.name,
      zone: row.zone ?? "",
      state: row.state ?? "",
      providers: row.providers,
      aggregates: row.aggregates ?? [],
      capacity: classes.map((name) => row.capacity[name] ?? 0),
      used: classes.map((name) => row.used[name] ?? 0),
    });
  }
  const sorted = [...hosts.values()].sort(byName);
  table.value = { ...before, time: change.time, classes, hosts: sorted };
  changed.value = new Set([...change.changed.map((row) => row.id), ...change.removed]);
}

const collator = new Intl.Collator("en", { numeric: true });

// Hosts in the order of their names, cn2 before cn10.
function byName(a: Host, b: Host): number {
  return collator.compare(a.name, b.name) || (a.id < b.id ? -1 : 1);
}
