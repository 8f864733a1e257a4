// What happens now: changes as they come, services and agents that are late, what the audit finds.
import { useEffect } from "preact/hooks";
import type { AuditFinding, Change, Findings } from "../api.gen.ts";
import { count } from "../amounts.ts";
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
      {c.consumer_uuid && <> of <a href={href("consumers", c.consumer_uuid)}>{c.consumer_name || c.consumer_uuid}</a>{owner(c)}</>}
      {c.provider_uuid && <> on <a href={href("hosts", c.provider_uuid)}>{c.provider || c.provider_uuid}</a></>}
    </li>
  );
}

// The type and the project of a change's consumer, as far as they are known.
function owner(c: Change): string {
  const known = [c.consumer_type, c.project_id && `project ${c.project_id}`].filter(Boolean);
  return known.length > 0 ? ` (${known.join(", ")})` : "";
}

// How many findings of a code are shown.
const shownOfCode = 20;

// The findings of each code, in the order of the audit.
function groups(findings: readonly AuditFinding[]): Map<string, AuditFinding[]> {
  const all = new Map<string, AuditFinding[]>();
  for (const finding of findings) all.set(finding.code, [...(all.get(finding.code) ?? []), finding]);
  return all;
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
        {[...groups(f.findings)].map(([code, list]) => (
          <details class="box" key={code}>
            <summary>
              <span class={list[0]!.severity === "error" ? "bad" : "warn"}>{list[0]!.severity}</span> {code}:{" "}
              {count(list.length, "finding")}. {list[0]!.means}
            </summary>
            {list.slice(0, shownOfCode).map((finding, i) => (
              <div key={i}>
                <p>{finding.about.map((s) => `${s.kind} ${s.name || s.id}`).join(", ")}</p>
                <p class="quiet">Found: {finding.found}. Expected: {finding.expected}.</p>
                <p><code>{finding.command}</code></p>
              </div>
            ))}
            {list.length > shownOfCode && <p class="quiet">berth audit --code {code} lists all of them.</p>}
          </details>
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
