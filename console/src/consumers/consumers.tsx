// A server, a migration or another consumer with everything that it has, on the trees that it has it of.
import { signal, useSignalEffect } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { amount, title } from "../amounts.ts";
import type { Holding, Port } from "../api.gen.ts";
import { type Failure, get } from "../api.ts";
import { changed, loadTable, table } from "../cloud.ts";
import { label } from "../label.ts";
import { href, type PageProps } from "../router.ts";
import { State } from "../state.tsx";
import { Tree } from "../tree.tsx";

const answer = signal<{ id: string; value?: Holding; failure?: Failure } | undefined>(undefined);

async function load(id: string, abort: AbortSignal): Promise<void> {
  const read = await get<Holding>("consumers/" + encodeURIComponent(id), abort);
  if (abort.aborted) return;
  answer.value = read.ok ? { id, value: read.value } : { id, failure: read.failure };
}

export default function Consumers({ route }: PageProps) {
  const id = route.id ?? "";
  useEffect(() => {
    if (!table.value) void loadTable();
    const abort = new AbortController();
    void load(id, abort.signal);
    return () => abort.abort();
  }, [id]);
  useSignalEffect(() => {
    const ids = changed.value; // also before there is an answer: else the effect would not run again
    const trees = answer.peek()?.value?.trees ?? [];
    if (trees.some((tree) => ids.has(tree[0]?.uuid ?? ""))) void load(id, new AbortController().signal);
  });
  const shown = answer.value?.id === id ? answer.value : undefined;
  if (shown?.failure) return <p class="notice" role="alert">{shown.failure.message}</p>;
  if (!shown?.value) return <p class="quiet" role="status">Reading …</p>;
  const { consumer: c, trees, absent } = shown.value;
  const providers = new Map(trees.flat().map((p) => [p.uuid, p.name]));
  const names = { consumer: (uuid: string) => label(uuid === c.id ? c : undefined, uuid), aggregate: (uuid: string) => uuid };
  const facts: [string, string | undefined][] = [
    ["Kind", c.kind === "consumer" ? c.consumer_type ?? "not known to any service" : c.kind],
    ["Status", c.status],
    ["Move", c.move],
    ["Flavor", c.flavor],
    ["Project", c.project_id],
    ["UUID", c.id],
  ];
  return (
    <>
      <p class="path"><a href={href("hosts")}>All hosts</a>{c.host && " / "}{c.host && <a href={href("hosts", trees[0]?.[0]?.uuid ?? c.host)}>{c.host}</a>}</p>
      <h1>{label(c, c.id)}</h1>
      <State />
      <dl class="facts">
        {facts.filter(([, value]) => value).map(([name, value]) => (
          <div key={name}><dt>{name}</dt><dd>{value}</dd></div>
        ))}
        {c.server && <div><dt>Server</dt><dd><a href={href("consumers", c.server)}>{c.name || c.server}</a></dd></div>}
      </dl>
      {c.kind === "server" && (
        <p class="choices">
          <a href={href("why", undefined, { server: c.id })}>Which other hosts could it be on, and why not the rest?</a>
          <a href={href("howmuch", undefined, { server: c.id })}>How many more like it fit?</a>
        </p>
      )}
      {trees.length === 0 && <p class="notice">It has no allocations.</p>}
      {Object.entries(absent).map(([id, amounts]) => (
        <p class="notice" key={id}>It has {text(amounts)} of the provider <code>{id}</code>, which is not there.</p>
      ))}
      {c.ports.length > 0 && (
        <section aria-labelledby="ports">
          <h2 id="ports">Ports with a guarantee</h2>
          {c.ports.map((port) => <Groups key={port.id} port={port} providers={providers} />)}
        </section>
      )}
      {trees.map((tree) => <Tree key={tree[0]!.uuid} providers={tree} names={names} only />)}
    </>
  );
}

// The request groups of a port, each with the provider that serves it.
function Groups({ port, providers }: { port: Port; providers: ReadonlyMap<string, string> }) {
  return (
    <div class="box">
      <h3>{port.name || port.id} <span class="quiet">{port.vnic_type}, {port.status}</span></h3>
      <p>Network {port.network}{port.policy && `, QoS policy ${port.policy}`}</p>
      <ul class="list">
        {port.groups.map((g) => (
          <li key={g.id}>
            {text(g.resources)} of {g.provider
              ? providers.get(g.provider) ?? <span class="bad">{g.provider}, where it has nothing</span>
              : <span class="quiet">no provider yet</span>}{" "}
            <span class="quiet">{g.required.join(", ")}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function text(amounts: Readonly<Record<string, number>>): string {
  return Object.entries(amounts).map(([name, value]) => `${title(name)} ${amount(value, name)}`).join(", ");
}
