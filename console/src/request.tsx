// A request for resources: the form in which it is named, by a query, a server or a flavor, and its part of addresses.
import { signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Choices } from "./api.gen.ts";
import { get } from "./api.ts";
import { href, navigate, route } from "./router.ts";

const keys = ["query", "server", "flavor", "image", "port", "network", "zone"] as const;

/** The query string of the request that the address names, "" for none. */
export function requested(): string {
  const params = new URLSearchParams();
  for (const key of keys) {
    for (const value of route.value.query.getAll(key)) {
      // Several ports or networks are typed with commas.
      const several = key === "port" || key === "network" ? value.split(",") : [value];
      for (const word of several) if (word.trim() !== "") params.append(key, word.trim());
    }
  }
  return params.toString();
}

/** Whose request group a suffix is. */
export function owner(owners: Readonly<Record<string, string>>, suffix: string): string {
  return suffix === "" ? "the server" : owners[suffix] ?? `group ${suffix}`;
}

// Names to choose from, once they are read.
const choices = signal<Choices | undefined>(undefined);

type Way = "query" | "server" | "flavor";

/** The form; a page shows the answer for what the address has then. */
export function RequestForm({ page, verb }: { page: string; verb: string }) {
  const query = route.value.query;
  const way = useSignal<Way>(query.has("server") ? "server" : query.has("query") ? "query" : "flavor");
  const submit = (form: HTMLFormElement) => {
    const data = new FormData(form);
    navigate(href(page, undefined, Object.fromEntries(keys.map((key) => [key, String(data.get(key) ?? "")]))));
  };
  useEffect(() => {
    if (choices.value) return;
    void get<Choices>("choices").then((read) => {
      if (read.ok) choices.value = read.value;
    });
  }, []);
  const field = (key: (typeof keys)[number], label: string, names: readonly string[] = [], required = false) => (
    <label key={key}>
      {label}{" "}
      <input
        type="text"
        name={key}
        list={`${key}-names`}
        required={required}
        spellcheck={false}
        autocomplete="off"
        defaultValue={query.get(key) ?? ""}
      />
      <datalist id={`${key}-names`}>{names.map((name) => <option key={name} value={name} />)}</datalist>
    </label>
  );
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        submit(event.currentTarget);
      }}
    >
      <fieldset class="choices">
        <legend class="quiet">The request is</legend>
        {(["flavor", "server", "query"] as const).map((name) => (
          <label key={name}>
            <input type="radio" name="way" checked={way.value === name} onChange={() => (way.value = name)} />{" "}
            {{ flavor: "a new server", server: "a server that exists or failed", query: "a query, or a line of a log with one" }[name]}
          </label>
        ))}
      </fieldset>
      {way.value === "query" && (
        <label>
          Query string of GET /allocation_candidates
          <textarea
            name="query"
            required
            spellcheck={false}
            placeholder="resources=VCPU:4,MEMORY_MB:8192&required=HW_CPU_X86_AVX512F"
            defaultValue={query.get("query") ?? ""}
          />
        </label>
      )}
      {way.value === "server" && <div class="choices">{field("server", "Name or UUID", [], true)}</div>}
      {way.value === "flavor" && (
        <div class="choices">
          {field("flavor", "Flavor", choices.value?.flavors, true)}
          {field("image", "Image", choices.value?.images)}
          {field("port", "Ports", choices.value?.ports)}
          {field("network", "Networks", choices.value?.networks)}
          {field("zone", "Zone", choices.value?.zones)}
        </div>
      )}
      <div><button type="submit">{verb}</button></div>
    </form>
  );
}
