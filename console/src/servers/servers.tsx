// The servers with their states and guaranteed ports, the networks and the QoS policies: what somebody who makes them
// watches.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { amount, count, title } from "../amounts.ts";
import type { Port, Servers as Answer } from "../api.gen.ts";
import { type Failure, get } from "../api.ts";
import { loadTable, table } from "../cloud.ts";
import { href, navigate, route } from "../router.ts";
import { State } from "../state.tsx";

const answer = signal<{ value?: Answer; failure?: Failure }>({});

export default function Servers() {
  const text = route.value.query.get("q") ?? "";
  const time = table.value?.time ?? "";
  useEffect(() => {
    if (!table.value) void loadTable();
  }, []);
  // Servers change without a change of any host: the list is read again each few seconds while it is shown.
  useEffect(() => {
    const abort = new AbortController();
    const load = async () => {
      if (document.hidden) return;
      const read = await get<Answer>("servers?q=" + encodeURIComponent(text), abort.signal);
      if (!abort.signal.aborted) answer.value = read.ok ? { value: read.value } : { failure: read.failure };
    };
    const timer = setInterval(load, 3000);
    void load();
    return () => {
      clearInterval(timer);
      abort.abort();
    };
  }, [text, time]);
  const { value, failure } = answer.value;
  return (
    <>
      <h1>Servers</h1>
      <State />
      {failure && <p class="notice" role="alert">{failure.message}</p>}
      {!value && !failure && <p class="quiet" role="status">Reading …</p>}
      {value && <Lists a={value} text={text} />}
    </>
  );
}

function Lists({ a, text }: { a: Answer; text: string }) {
  return (
    <>
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <label>
          Name, host or project{" "}
          <input
            type="search"
            value={text}
            onInput={(event) => navigate(href("servers", undefined, { q: event.currentTarget.value }), { replace: true })}
          />
        </label>
        <output class="quiet">
          {a.servers.length < a.total ? `the newest ${a.servers.length} of ${a.total} servers` : count(a.total, "server")}
        </output>
      </form>
      {a.total === 0 && text === "" && <p class="notice">There are no servers.</p>}
      {a.servers.length > 0 && (
        <div class="wide" tabIndex={0} role="region" aria-label="Servers">
          <table>
            <thead>
              <tr>
                <th scope="col">Server</th>
                <th scope="col">Status</th>
                <th scope="col">Host</th>
                <th scope="col">Flavor</th>
                <th scope="col">Guaranteed</th>
              </tr>
            </thead>
            <tbody>
              {a.servers.map((server) => (
                <tr key={server.id}>
                  <th scope="row"><a href={href("consumers", server.id)}>{server.name || server.id}</a></th>
                  <td class={server.status === "ERROR" ? "bad" : undefined} title={server.fault}>
                    {server.status} <span class="quiet">{server.task}</span>
                    {server.status === "ERROR" && <> <a href={href("why", undefined, { server: server.id })}>why?</a></>}
                  </td>
                  <td>
                    {server.host}
                    {server.host && !server.allocated && <span class="bad"> without an allocation</span>}
                  </td>
                  <td>{server.flavor}</td>
                  <td>{server.ports.map((port) => <div key={port.id}>{guarantee(port)}</div>)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {a.policies.length > 0 && (
        <section aria-labelledby="policies">
          <h2 id="policies">QoS policies</h2>
          <ul class="list">
            {a.policies.map((policy) => (
              <li key={policy.id}>
                {policy.name || policy.id}: {policy.rules.length === 0
                  ? <span class="quiet">guarantees nothing</span>
                  : policy.rules.map((rule) => rule.min_kbps !== undefined
                    ? `${amount(rule.min_kbps, "NET_BW_EGR_KILOBIT_PER_SEC")} ${rule.direction ?? ""}`
                    : `${rule.min_kpps ?? 0} kpps ${rule.direction ?? ""}`).join(", ")}
              </li>
            ))}
          </ul>
        </section>
      )}
      {a.networks.length > 0 && (
        <section aria-labelledby="networks">
          <h2 id="networks">Networks</h2>
          <ul class="list">
            {a.networks.map((network) => (
              <li key={network.id}>
                {network.name || network.id}{" "}
                <span class="quiet">{network.type} {network.physical && `on ${network.physical}`}</span>
                {network.policy && `, QoS policy ${network.policy}`}
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

// What a port guarantees, and whether a provider serves it.
function guarantee(port: Port): string {
  const sums = new Map<string, number>();
  for (const group of port.groups) {
    for (const [name, value] of Object.entries(group.resources)) sums.set(name, (sums.get(name) ?? 0) + value);
  }
  const text = [...sums].map(([name, value]) => `${title(name)} ${amount(value, name)}`).join(", ");
  return `${port.name || port.id}: ${text}${port.groups.every((group) => group.provider) ? "" : " (not placed)"}`;
}
