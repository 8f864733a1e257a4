// The search in the header: hosts, providers, servers, ports, traits, aggregates, classes, projects.
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { count, title } from "./amounts.ts";
import type { Found, Hit } from "./api.gen.ts";
import { get } from "./api.ts";
import { href, navigate, route } from "./router.ts";

const text = signal("");
const found = signal<Found | undefined>(undefined);

// The page about a hit.
function target(hit: Hit): string {
  switch (hit.kind) {
    case "host":
    case "provider":
      return href("hosts", hit.host ?? hit.id);
    case "port":
      return href("consumers", hit.consumer ?? "");
    case "trait":
    case "class":
    case "aggregate":
    case "project":
      return href("hosts", undefined, { with: `${hit.kind}:${hit.id}` });
  }
  return href("consumers", hit.id);
}

export function Search() {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    const query = text.value.trim();
    if (query.length < 2) {
      found.value = undefined;
      return;
    }
    const abort = new AbortController();
    const timer = setTimeout(async () => {
      const answer = await get<Found>("search?q=" + encodeURIComponent(query), abort.signal);
      if (!abort.signal.aborted) found.value = answer.ok ? answer.value : { hits: [], more: false };
    }, 150);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text.value]);
  const close = () => {
    text.value = "";
    found.value = undefined;
  };
  useEffect(close, [route.value]);
  useEffect(() => {
    const leave = (event: Event) => {
      if (event.target instanceof Node && !form.current?.contains(event.target)) found.value = undefined;
    };
    document.addEventListener("pointerdown", leave);
    return () => document.removeEventListener("pointerdown", leave);
  }, []);
  const step = (event: KeyboardEvent) => {
    const links = [...form.current!.querySelectorAll<HTMLElement>("input, .hits a")];
    const at = links.indexOf(document.activeElement as HTMLElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1 }[event.key];
    if (event.key === "Escape") close();
    if (next === undefined || !links[next]) return;
    event.preventDefault();
    links[next].focus();
  };
  const hits = found.value?.hits;
  return (
    <form
      class="search"
      role="search"
      ref={form}
      onKeyDown={step}
      onSubmit={(event) => {
        event.preventDefault();
        if (hits?.[0]) navigate(target(hits[0]));
      }}
    >
      <input
        type="search"
        aria-label="Search for a host, provider, server, port, trait, aggregate or project"
        placeholder="host, server, port, trait, project …"
        value={text.value}
        onInput={(event) => (text.value = event.currentTarget.value)}
      />
      {hits && (
        <ul class="hits" aria-label="Found">
          {hits.length === 0 && <li class="quiet">Nothing has this in its name or UUID.</li>}
          {hits.map((hit) => (
            <li key={hit.kind + hit.id}>
              <a href={target(hit)}>
                <span class="quiet">{hit.kind}</span> {hit.kind === "class" ? title(hit.id) : hit.name || hit.id}
                {hit.hosts && <span class="quiet"> {count(hit.hosts.length, "host")}</span>}
              </a>
            </li>
          ))}
          {found.value?.more && <li class="quiet">There are more: type more of the name.</li>}
        </ul>
      )}
    </form>
  );
}
