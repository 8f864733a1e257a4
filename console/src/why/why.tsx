// Why has a request no valid host, or only these? For each group what each constraint drops, what would help most, and
// the hosts that come closest.
import type { Explained } from "../api.gen.ts";
import { answers, useAnswer } from "../answer.ts";
import { count, title } from "../amounts.ts";
import { owner, RequestForm, requested } from "../request.tsx";
import { href } from "../router.ts";

const explained = answers<Explained>();

export default function Why() {
  const request = requested();
  const answer = useAnswer(explained, request === "" ? "" : "explain?" + request);
  return (
    <>
      <h1>Why not?</h1>
      <RequestForm page="why" verb="Explain" />
      {answer && !answer.value && !answer.failure && <p class="quiet" role="status">Searching …</p>}
      {answer?.failure && <p class="notice" role="alert">{answer.failure.message}</p>}
      {answer?.value && <Explanation e={answer.value} />}
    </>
  );
}

function Explanation({ e }: { e: Explained }) {
  const taken = e.fitting_hosts - e.not_taken.length;
  return (
    <>
      <p class="notice" role="status">
        <strong>{taken === 0 ? "No host fits." : `${taken} of ${count(e.hosts, "host")} ${taken === 1 ? "fits" : "fit"}.`}</strong> {e.refused || e.summary}
      </p>
      {e.notes.map((text) => <p key={text} class="quiet">{text}</p>)}
      {e.changes.length > 0 && (
        <section aria-labelledby="changes">
          <h2 id="changes">What would help</h2>
          <ol class="list">
            {e.changes.map((change, i) => (
              <li key={i}>
                {count(change.hosts, "host")} more, if {e.change_texts[i]}
                {change.group !== "" && <span class="quiet"> ({owner(e.owners, change.group)})</span>}
                <span class="quiet">: {change.names.join(", ")}</span>
              </li>
            ))}
          </ol>
        </section>
      )}
      {e.groups.map((group, i) => <Funnel key={i} group={group} e={e} />)}
      {e.groups.length > 1 && (
        <p>
          {count(e.hosts_for_each_group, "host")} can serve each of these by itself, and {e.hosts_for_all_groups} all of them together.
        </p>
      )}
      {e.near.length > 0 && (
        <section aria-labelledby="near">
          <h2 id="near">The closest hosts</h2>
          <ul class="list">
            {e.near.map((host, i) => (
              <li key={host.uuid}>
                <a href={href("hosts", host.uuid)}>{host.name}</a>: {e.miss_texts[i]?.join("; ")}
              </li>
            ))}
          </ul>
        </section>
      )}
      {e.not_taken.length > 0 && (
        <section aria-labelledby="refused">
          <h2 id="refused">Hosts that fit, and that Nova does not take</h2>
          <ul class="list">{e.not_taken.map((host) => <li key={host.name}>{host.name}: {host.reason}</li>)}</ul>
        </section>
      )}
      {e.fit.length > 0 && (
        <details>
          <summary>The hosts that fit</summary>
          <ul class="list">{e.fit.map((name) => <li key={name}><a href={href("hosts", name)}>{name}</a></li>)}</ul>
        </details>
      )}
    </>
  );
}

// What remains of all providers after each constraint of a group.
function Funnel({ group, e }: { group: Explained["groups"][number]; e: Explained }) {
  let [providers, hosts] = [e.providers, e.hosts - e.dropped_by_root_required];
  const steps = [{ text: "all", providers, hosts }];
  for (const drop of group.dropped) {
    providers -= drop.providers;
    hosts -= drop.hosts;
    steps.push({ text: `without those with ${drop.constraint}`, providers, hosts });
  }
  const whole = Math.max(1, e.providers);
  const name = owner(e.owners, group.group) + (group.resource_class ? `: ${title(group.resource_class)}` : "");
  return (
    <section aria-label={name}>
      <h2>{name}</h2>
      <ol class="funnel">
        {steps.map((step, i) => (
          <li key={i}>
            <i style={{ inlineSize: `${100 * step.providers / whole}%` }} />
            <span>{step.text}</span>
            <span class={step.hosts === 0 ? "bad" : undefined}>{count(step.hosts, "host")}, {count(step.providers, "provider")}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
