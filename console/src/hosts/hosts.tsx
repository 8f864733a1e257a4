// The page of the hosts: how full is the cloud? A table or a map of all hosts; with an id, one host.
import { computed, signal, useSignalEffect } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { count, percent, title } from "../amounts.ts";
import { Bar } from "../bar.tsx";
import type { Found } from "../api.gen.ts";
import { get } from "../api.ts";
import { failure, loadTable, table } from "../cloud.ts";
import { href, navigate, type PageProps, route } from "../router.ts";
import { State } from "../state.tsx";
import { HostPage } from "./host.tsx";
import { Heat } from "./heat.tsx";
import { HostTable } from "./table.tsx";
import { choose, classesOf, filtered, type View } from "./view.ts";

export default function Hosts({ route: shown }: PageProps) {
  return shown.id === undefined ? <Overview /> : <HostPage id={shown.id} />;
}

// What is shown is in the address, so that a link shows the same.
const view = computed<View>(() => choose(route.value.query));

function set(change: Record<string, string>): void {
  const query = Object.fromEntries(route.value.query);
  navigate(href("hosts", undefined, { ...query, ...change }), { replace: true });
}

// The hosts that have what a search has found, by the word of the address: "trait:HW_CPU_X86_AVX2".
const found = signal<{ word: string; hosts: ReadonlySet<string> }>({ word: "", hosts: new Set() });

const visible = computed(() => {
  if (!table.value) return [];
  const word = view.value.with;
  const ids = word === "" ? undefined : found.value.word === word ? found.value.hosts : new Set<string>();
  return filtered(table.value, view.value, ids);
});

async function find(word: string): Promise<void> {
  const [kind = "", ...rest] = word.split(":");
  const id = rest.join(":");
  const answer = await get<Found>("search?q=" + encodeURIComponent(id));
  const hit = answer.ok ? answer.value.hits.find((h) => h.kind === kind && h.id === id) : undefined;
  found.value = { word, hosts: new Set(hit?.hosts ?? []) };
}

function Overview() {
  useEffect(() => {
    if (!table.value) void loadTable();
  }, []);
  useSignalEffect(() => {
    const word = view.value.with;
    if (word !== "" && found.peek().word !== word) void find(word);
  });
  if (failure.value && !table.value) return <p class="notice" role="alert">{failure.value.message}</p>;
  const cloud = table.value;
  if (!cloud) return <p class="quiet" role="status">Reading the cloud …</p>;
  return (
    <>
      <h1>Hosts</h1>
      <State />
      <Totals />
      <Filters />
      {cloud.hosts.length === 0
        ? <p class="notice">Placement has no resource providers. Hosts appear here when their agents have reported them.</p>
        : view.value.map
        ? <Heat table={cloud} hosts={visible.value} view={view.value} />
        : <HostTable table={cloud} hosts={visible.value} view={view.value} sort={(by) => set({ sort: by })} />}
      {cloud.unread.length > 0 && (
        <details>
          <summary>Not everything could be read</summary>
          <ul class="list">{cloud.unread.map((text) => <li key={text}>{text}</li>)}</ul>
        </details>
      )}
    </>
  );
}

// The sums of the hosts that are shown, one bar for each class.
function Totals() {
  const cloud = table.value!;
  const sums = cloud.classes.map((name, k) => {
    let [used, capacity] = [0, 0];
    for (const host of visible.value) {
      used += host.used[k] ?? 0;
      capacity += host.capacity[k] ?? 0;
    }
    return { name, used, capacity };
  }).filter((sum) => sum.capacity > 0 || sum.used > 0);
  return (
    <dl class="totals" aria-label="Sums of the hosts that are shown">
      {sums.map((sum) => (
        <div key={sum.name}>
          <dt title={sum.name}>{title(sum.name)}</dt>
          <dd>
            <strong>{percent(sum.capacity > 0 ? sum.used / sum.capacity : 1)}</strong> <Bar {...sum} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

const typed = signal<string | undefined>(undefined);

function Filters() {
  const cloud = table.value!;
  const { text, zone, aggregate, map, first, second } = view.value;
  // The text is in the address when the typing pauses: a history of single letters helps nobody.
  useSignalEffect(() => {
    const next = typed.value;
    if (next === undefined) return;
    const timer = setTimeout(() => set({ q: next }), 150);
    return () => clearTimeout(timer);
  });
  const zones = [...new Set(cloud.hosts.map((host) => host.zone))].filter((name) => name !== "").sort();
  const aggregates = [...new Set(cloud.hosts.flatMap((host) => host.aggregates))]
    .map((id) => ({ id, name: cloud.aggregateNames[id] ?? id })).sort((a, b) => a.name < b.name ? -1 : 1);
  const classes = classesOf(cloud);
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <label>
        Name{" "}
        <input type="search" value={typed.value ?? text} placeholder="host" onInput={(event) => (typed.value = event.currentTarget.value)} />
      </label>
      {zones.length > 1 && <Select label="Zone" value={zone} all="all zones" options={zones.map((z) => [z, z])} change={(v) => set({ zone: v })} />}
      {aggregates.length > 0 && (
        <Select label="Aggregate" value={aggregate} all="all" options={aggregates.map((a) => [a.id, a.name])} change={(v) => set({ aggregate: v })} />
      )}
      <Select label="View" value={map ? "map" : ""} all="table" options={[["map", "map"]]} change={(v) => set({ view: v })} />
      {map && (
        <>
          <Select label="Colour" value={first} options={classes.map((name) => [name, title(name)])} change={(v) => set({ class: v })} />
          <Select label="and" value={second} all="nothing else" options={classes.map((name) => [name, title(name)])} change={(v) => set({ second: v })} />
        </>
      )}
      {view.value.with !== "" && (
        <button type="button" onClick={() => set({ with: "" })} title="Show all hosts">
          with {view.value.with.replace(":", " ")} ✕
        </button>
      )}
      <output class="quiet">{visible.value.length.toLocaleString("en-US")} of {count(cloud.hosts.length, "host")}</output>
    </form>
  );
}

function Select({ label, value, all, options, change }: {
  label: string;
  value: string;
  all?: string;
  options: readonly (readonly [string, string])[];
  change: (value: string) => void;
}) {
  return (
    <label>
      {label}{" "}
      <select value={value} onChange={(event) => change(event.currentTarget.value)}>
        {all !== undefined && <option value="">{all}</option>}
        {options.map(([id, name]) => <option key={id} value={id}>{name}</option>)}
      </select>
    </label>
  );
}
