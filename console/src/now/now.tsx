// What happens now: changes as they come, services and agents that are late, what the audit finds.
import { useEffect } from "preact/hooks";
import type { Change, Findings } from "../api.gen.ts";
import { answers, useAnswer } from "../answer.ts";
import { history, loadTable, table } from "../cloud.ts";
import { State } from "../hosts/hosts.tsx";
import { href } from "../router.ts";

const findings = answers<Findings>();

export default function Now() {
  useEffect(() => {
    if (!table.value) void loadTable();
  }, []);
  const answer = useAnswer(findings, table.value ? `findings?time=${encodeURIComponent(table.value.time)}` : "");
  return (
    <>
      <h1>Now</h1>
      <State />
      <section aria-labelledby="changes">
        <h2 id="changes">Changes since this page was opened</h2>
        {history.value.length === 0
          ? <p class="quiet">Nothing has changed.</p>
          : (
            <ol class="list" aria-live="polite">
              {history.value.map((change, i) => <Line key={history.value.length - i} change={change} />)}
            </ol>
          )}
      </section>
      {answer?.failure && <p class="notice">{answer.failure.message}</p>}
      {answer?.value && <Problems f={answer.value} />}
    </>
  );
}

// A change, for people: who gets or gives back what, and what else is different.
function Line({ change: c }: { change: Change }) {
  const subject = c.subject ? `${c.what} ${c.subject}` : c.what;
  const values = c.before && c.after ? `: ${c.before} → ${c.after}` : c.before || c.after ? `: ${c.after || c.before}` : "";
  return (
    <li>
      <span class="quiet">{new Date(c.time).toLocaleTimeString()}</span>{" "}
      <span class={c.change === "removed" ? "quiet" : undefined}>{c.change} {subject}{values}</span>
      {c.consumer_uuid && <> of <a href={href("consumers", c.consumer_uuid)}>{c.consumer_name || c.consumer_uuid}</a></>}
      {c.provider_uuid && <> on <a href={href("hosts", c.provider_uuid)}>{c.provider || c.provider_uuid}</a></>}
    </li>
  );
}

function Problems({ f }: { f: Findings }) {
  return (
    <>
      <section aria-labelledby="late">
        <h2 id="late">Late services and agents</h2>
        {f.late.length === 0
          ? <p class="quiet">None.</p>
          : <ul class="list">{f.late.map((l) => <li key={l.kind + l.host}>{l.kind} on {l.host}: {l.detail}</li>)}</ul>}
      </section>
      <section aria-labelledby="findings">
        <h2 id="findings">What the audit finds</h2>
        {f.findings.length === 0 && <p class="good">Nothing: the services agree.</p>}
        {f.findings.map((finding, i) => (
          <div class="box" key={i}>
            <h3>
              <span class={finding.severity === "error" ? "bad" : "warn"}>{finding.severity}</span> {finding.code}
            </h3>
            <p>{finding.about.map((s) => `${s.kind} ${s.name || s.id}`).join(", ")}</p>
            <p>{finding.found} {finding.expected}</p>
            <p class="quiet">{finding.means}</p>
            <p><code>{finding.command}</code></p>
          </div>
        ))}
        {f.unchecked.length > 0 && (
          <details>
            <summary>Not everything was checked</summary>
            <ul class="list">{f.unchecked.map((u, i) => <li key={i}>{u.codes.join(", ")}: {u.reason}</li>)}</ul>
          </details>
        )}
      </section>
    </>
  );
}
