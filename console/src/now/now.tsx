// What happens now: changes as they come, services and agents that are late, what the audit finds.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { AuditFinding, Change, Findings, RequestTraffic, Traffic } from "../api.gen.ts";
import { count } from "../amounts.ts";
import { answers, useAnswer } from "../answer.ts";
import { get } from "../api.ts";
import { history, loadTable, table } from "../cloud.ts";
import { href } from "../router.ts";
import { State } from "../state.tsx";

const findings = answers<Findings>();
const traffic = signal<Traffic | undefined>(undefined);

// How often the traffic is read, while the page is visible, and how many kinds of requests are shown.
const trafficPause = 10_000;
const shownRequests = 15;

// Reads the traffic now and after each pause, until the signal aborts or there is nobody who measures it.
async function readTraffic(abort: AbortSignal): Promise<void> {
  if (document.visibilityState === "visible") {
    const answer = await get<Traffic>("traffic", abort);
    if (abort.aborted) return;
    if (answer.ok) traffic.value = answer.value;
    if (answer.ok && !answer.value.measured) return;
  }
  const timer = setTimeout(() => void readTraffic(abort), trafficPause);
  abort.addEventListener("abort", () => clearTimeout(timer), { once: true });
}

export default function Now() {
  useEffect(() => {
    if (!table.value) void loadTable();
    const abort = new AbortController();
    void readTraffic(abort.signal);
    return () => abort.abort();
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
      {traffic.value?.measured && <Requests t={traffic.value} />}
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

// A time in seconds, for people.
function time(seconds: number): string {
  if (seconds === 0) return "–";
  return seconds < 1 ? `${Number((seconds * 1000).toPrecision(2))} ms` : `${Number(seconds.toPrecision(2))} s`;
}

// How many requests services answer, how fast and with what.
function Requests({ t }: { t: Traffic }) {
  const row = (r: RequestTraffic) => (
    <tr key={r.service + r.request}>
      <th scope="row">{r.service} {r.request}</th>
      <td class="number">{Number(r.rate.toPrecision(2))}</td>
      <td class="number">{time(r.median)}</td>
      <td class="number">{time(r.p99)}</td>
      <td class="number">{r.total}</td>
      <td class="number">{r.conflicts}</td>
      <td class="number">{r.refused}</td>
      <td class="number">{r.failed}</td>
    </tr>
  );
  return (
    <section aria-labelledby="requests">
      <h2 id="requests">Requests to the services</h2>
      <p class="quiet">
        Rates and times are those of the last {Math.round(t.window)} s, numbers those since {new Date(t.since).toLocaleString()}.
      </p>
      <div class="wide" tabIndex={0} role="region" aria-labelledby="requests">
        <table>
          <thead>
            <tr>
              <th scope="col">Request</th>
              <th scope="col">per second</th>
              <th scope="col">median</th>
              <th scope="col">99 %</th>
              <th scope="col">number</th>
              <th scope="col">conflicts (409)</th>
              <th scope="col">other refusals</th>
              <th scope="col">failures</th>
            </tr>
          </thead>
          <tbody>{t.requests.slice(0, shownRequests).map(row)}</tbody>
        </table>
      </div>
      {t.outcomes.length > 0 && <ul class="list">{t.outcomes.map((o) => <li key={o.what}>{o.count} {o.what}</li>)}</ul>}
    </section>
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
