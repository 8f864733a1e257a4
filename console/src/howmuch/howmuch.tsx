// How many more servers fit, and what runs out first; and can a host be emptied, with the moves in order.
import type { CapacityExhausted, CapacityPlan as Plan, ExplainMiss, FlavorSlots, Headroom } from "../api.gen.ts";
import { answers, useAnswer } from "../answer.ts";
import { count, title } from "../amounts.ts";
import { owner, RequestForm, requested } from "../request.tsx";
import { href, route } from "../router.ts";

const slots = answers<FlavorSlots>();
const headroom = answers<Headroom>();
const plan = answers<Plan>();

export default function HowMuch() {
  const host = route.value.query.get("drain") ?? "";
  return host === "" ? <Count /> : <Drain host={host} />;
}

function Count() {
  const request = requested();
  const answer = useAnswer(headroom, request === "" ? "" : "headroom?" + request);
  return (
    <>
      <h1>How much?</h1>
      <RequestForm page="howmuch" verb="Count" />
      {!answer && <Flavors />}
      {answer && !answer.value && !answer.failure && <p class="quiet" role="status">Counting …</p>}
      {answer?.failure && <p class="notice" role="alert">{answer.failure.message}</p>}
      {answer?.value && <Slots h={answer.value} />}
    </>
  );
}

// How many more servers of each flavor fit.
function Flavors() {
  const answer = useAnswer(slots, "slots");
  if (answer?.failure) return <p class="notice" role="alert">{answer.failure.message}</p>;
  const flavors = answer?.value?.flavors;
  if (!flavors) return <p class="quiet" role="status">Counting …</p>;
  if (flavors.length === 0) return null;
  return (
    <section aria-labelledby="flavors">
      <h2 id="flavors">Free slots of each flavor, the fewest first</h2>
      <div class="wide" tabIndex={0} role="region" aria-labelledby="flavors">
        <table>
          <thead>
            <tr>
              <th scope="col">Flavor</th>
              <th scope="col" class="number">More fit</th>
              <th scope="col" class="number" title="if what is free were in one piece">Unfragmented</th>
              <th scope="col">What runs out first</th>
            </tr>
          </thead>
          <tbody>
            {flavors.map((flavor) => {
              const first = flavor.runs_out.find((miss) => miss.kind !== "forbidden") ?? flavor.runs_out[0];
              return (
                <tr key={flavor.name}>
                  <th scope="row"><a href={href("howmuch", undefined, { flavor: flavor.name })}>{flavor.name}</a></th>
                  <td class={flavor.least === 0 ? "number bad" : "number"}>
                    {flavor.least === flavor.most ? flavor.least : `${flavor.least} to ${flavor.most}`}
                  </td>
                  <td class="number">{flavor.unfragmented < 0 ? "–" : flavor.unfragmented}</td>
                  <td>{flavor.refused ?? (first ? `${missing(first, {})} on ${count(first.hosts, "host")}` : "")}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}

// What runs out, for people.
function missing(miss: CapacityExhausted | ExplainMiss, owners: Readonly<Record<string, string>>): string {
  const name = miss.resource_class ? title(miss.resource_class) : "";
  const of = miss.group === "" ? "" : ` for ${owner(owners, miss.group)}`;
  switch (miss.kind) {
    case "capacity":
      return `not enough ${name}${of}`;
    case "units":
      return `no such amount of ${name} in one allocation${of}`;
    case "inventory":
      return `no ${name}${of}`;
    case "required":
    case "root_required":
      return `lacks ${miss.traits?.join(", ")}${of}`;
    case "forbidden":
      return `has ${miss.traits?.join(", ")}${of}`;
    case "in_tree":
      return "not the requested host";
    case "combination":
      return "not all groups together";
  }
  return miss.kind + of;
}

function Slots({ h }: { h: Headroom }) {
  const most = Math.max(1, ...h.hosts.map((host) => host.most));
  return (
    <>
      <p class="notice" role="status">
        <strong>{h.exact ? `${h.least} more fit` : `${h.least} more fit, and no more than ${h.most} can`}.</strong>
      </p>
      {h.notes.map((text) => <p key={text} class="quiet">{text}</p>)}
      {h.runs_out.length > 0 && (
        <section aria-labelledby="out">
          <h2 id="out">What runs out</h2>
          <ul class="list">
            {h.runs_out.map((miss, i) => <li key={i}>on {count(miss.hosts, "host")}: {missing(miss, h.owners)}</li>)}
          </ul>
        </section>
      )}
      <section aria-labelledby="slots">
        <h2 id="slots">Where</h2>
        <ol class="funnel">
          {h.hosts.slice(0, 200).map((host) => (
            <li key={host.uuid}>
              <i style={{ inlineSize: `${100 * host.most / most}%` }} />
              <span><a href={href("hosts", host.uuid)}>{host.name}</a> {host.least === host.most ? host.least : `${host.least} to ${host.most}`}</span>
              <span class="quiet">{[...new Set(host.misses.map((miss) => missing(miss, h.owners)))].join("; ")}</span>
            </li>
          ))}
        </ol>
        {h.hosts.length > 200 && <p class="quiet">The other {count(h.hosts.length - 200, "host")} have no more than these.</p>}
      </section>
      {h.not_taken.length > 0 && (
        <details>
          <summary>{count(h.not_taken.length, "host")} not counted, since Nova does not take them</summary>
          <ul class="list">{h.not_taken.map((host) => <li key={host.name}>{host.name}: {host.reason}</li>)}</ul>
        </details>
      )}
    </>
  );
}

function Drain({ host }: { host: string }) {
  const answer = useAnswer(plan, "drain/" + encodeURIComponent(host));
  if (answer?.failure) return <p class="notice" role="alert">{answer.failure.message}</p>;
  const p = answer?.value;
  if (!p) return <p class="quiet" role="status">Planning …</p>;
  const all = p.moves.length + p.stuck.length + p.waiting.length;
  const summary = all === 0
    ? "Nothing has allocations on it."
    : all === p.moves.length
    ? `It can be emptied with ${count(all, "move")}.`
    : p.proven && p.stuck.length > 0
    ? `It cannot be emptied; ${p.moves.length} of ${all} can be moved.`
    : `No plan was found that empties it; ${p.moves.length} of ${all} can be moved.`;
  return (
    <>
      <p class="path"><a href={href("hosts")}>Hosts</a> / <a href={href("hosts", p.uuid)}>{p.host}</a></p>
      <h1>Can {p.host} be emptied?</h1>
      <p class="notice" role="status">
        <strong>{summary}</strong> {p.confirm_each_move && "Each move has to be confirmed before the next begins."}
      </p>
      {p.moves.length > 0 && (
        <section aria-labelledby="moves">
          <h2 id="moves">The moves, in this order</h2>
          <ol class="list">
            {p.moves.map((move) => (
              <li key={move.consumer_uuid}>
                <a href={href("consumers", move.consumer_uuid)}>{move.name || move.consumer_uuid}</a> to{" "}
                <a href={href("hosts", move.to_uuid)}>{move.to}</a>
                {move.assumed && <span class="quiet"> {move.assumed}</span>}
              </li>
            ))}
          </ol>
        </section>
      )}
      {p.stuck.length + p.waiting.length > 0 && (
        <section aria-labelledby="stuck">
          <h2 id="stuck">What cannot be moved</h2>
          <ul class="list">
            {[...p.stuck, ...p.waiting].map((c) => (
              <li key={c.consumer_uuid}>
                <a href={href("consumers", c.consumer_uuid)}>{"name" in c && c.name || c.consumer_uuid}</a>: {c.reason}
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}
