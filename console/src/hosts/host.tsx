// A host: its tree of providers, and who has what of it.
import { signal, useSignalEffect } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { amount, title } from "../amounts.ts";
import type { Consumer, Host, RecordsProvider as Provider } from "../api.gen.ts";
import { type Failure, get } from "../api.ts";
import { changed, loadTable, table } from "../cloud.ts";
import { label } from "../label.ts";
import { href } from "../router.ts";
import { State } from "../state.tsx";
import { marked, Tree } from "../tree.tsx";

const answer = signal<{ id: string; value?: Host; failure?: Failure } | undefined>(undefined);

async function load(id: string, abort: AbortSignal): Promise<void> {
  const read = await get<Host>("hosts/" + encodeURIComponent(id), abort);
  if (abort.aborted) return;
  answer.value = read.ok ? { id, value: read.value } : { id, failure: read.failure };
}

export function HostPage({ id }: { id: string }) {
  useEffect(() => {
    if (!table.value) void loadTable();
    const abort = new AbortController();
    void load(id, abort.signal);
    return () => abort.abort();
  }, [id]);
  useSignalEffect(() => {
    const ids = changed.value; // also before there is an answer: else the effect would not run again
    const root = answer.peek()?.value?.row.id;
    if (root !== undefined && ids.has(root)) void load(id, new AbortController().signal);
  });
  const shown = answer.value?.id === id ? answer.value : undefined;
  if (shown?.failure) return <p class="notice" role="alert">{shown.failure.message}</p>;
  if (!shown?.value) return <p class="quiet" role="status">Reading the host …</p>;
  const { row, providers, consumers, aggregate_names } = shown.value;
  const names = {
    consumer: (uuid: string) => label(consumers[uuid], uuid),
    aggregate: (uuid: string) => aggregate_names[uuid] ?? uuid,
  };
  return (
    <>
      <p class="path"><a href={href("hosts")}>All hosts</a></p>
      <h1>{row.name} <span class={row.state === "up" ? "quiet" : "warn"}>{row.state}</span></h1>
      <p class="quiet">
        {row.zone && `Zone ${row.zone}. `}<code>{row.id}</code>{" "}
        <a href={href("howmuch", undefined, { drain: row.id })}>Can it be emptied?</a>
      </p>
      <State />
      <div class="host">
        <Tree providers={providers} names={names} />
        <Holders providers={providers} consumers={consumers} />
      </div>
    </>
  );
}

// Who has what of the tree, those with most of the first class first.
function Holders({ providers, consumers }: { providers: readonly Provider[]; consumers: Readonly<Record<string, Consumer>> }) {
  const sums = new Map<string, Map<string, number>>();
  for (const p of providers) {
    for (const a of p.allocations) {
      const sum = sums.get(a.consumer_uuid) ?? new Map<string, number>();
      for (const [name, value] of Object.entries(a.resources)) sum.set(name, (sum.get(name) ?? 0) + value);
      sums.set(a.consumer_uuid, sum);
    }
  }
  if (sums.size === 0) {
    const used = providers.some((p) => p.inventories.some((i) => i.used > 0));
    return <p class="quiet">{used ? "The records do not say who has what of it." : "Nobody has anything of this host."}</p>;
  }
  const list = [...sums].sort(([a], [b]) => label(consumers[a], a) < label(consumers[b], b) ? -1 : 1);
  return (
    <section aria-labelledby="holders">
      <h2 id="holders">Who has what</h2>
      <ul class="holders">
        {list.map(([id, sum]) => {
          const c = consumers[id];
          return (
            <li
              key={id}
              class={marked.value === id ? "marked" : undefined}
              onPointerEnter={() => (marked.value = id)}
              onPointerLeave={() => (marked.value = "")}
            >
              <a href={href("consumers", id)}>{label(c, id)}</a>{" "}
              <span class="quiet">{c?.kind === "migration" ? c.move : c?.status ?? c?.consumer_type} {c?.flavor}</span>
              <br />
              {[...sum].map(([name, value]) => `${title(name)} ${amount(value, name)}`).join(", ")}
              {c && c.ports.length > 0 && (
                <span class="quiet"><br />ports {c.ports.map((p) => p.name || p.id).join(", ")}</span>
              )}
            </li>
          );
        })}
      </ul>
    </section>
  );
}
