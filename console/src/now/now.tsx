// What happens now: changes as they come, services and agents that are late, what the audit finds.
import { useEffect } from "preact/hooks";
import { amount, title } from "../amounts.ts";
import type { Findings } from "../api.gen.ts";
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
              {history.value.map((entry) => (
                <li key={entry.key}>
                  <span class="quiet">{new Date(entry.time).toLocaleTimeString()}</span>{" "}
                  <a href={href("hosts", entry.id)}>{entry.name}</a>{" "}
                  {entry.text ?? `${title(entry.class ?? "")} ${amount(entry.before ?? 0, entry.class ?? "")} → ${amount(entry.after ?? 0, entry.class ?? "")}`}
                </li>
              ))}
            </ol>
          )}
      </section>
      {answer?.failure && <p class="notice">{answer.failure.message}</p>}
      {answer?.value && <Problems f={answer.value} />}
    </>
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
