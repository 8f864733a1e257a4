// The frame around the pages: the header, and the page that the address names. A page is the default export of
// src/NAME/NAME.tsx, and is loaded when it is shown for the first time.
import { signal, useSignalEffect } from "@preact/signals";
import { type ComponentType, render } from "preact";
import { loginRequired, progress } from "./api.ts";
import { href, type PageProps, route, start } from "./router.ts";
import { Search } from "./search.tsx";
import { Account, loadSession } from "./session/account.tsx";

type Page = ComponentType<PageProps>;

const pages: Record<string, { title: string; menu: boolean; load: () => Promise<{ default: Page }> }> = {
  hosts: { title: "Hosts", menu: true, load: () => import("./hosts/hosts.tsx") },
  servers: { title: "Servers", menu: true, load: () => import("./servers/servers.tsx") },
  consumers: { title: "Consumers", menu: false, load: () => import("./consumers/consumers.tsx") },
  why: { title: "Why not?", menu: true, load: () => import("./why/why.tsx") },
  howmuch: { title: "How much?", menu: true, load: () => import("./howmuch/howmuch.tsx") },
  now: { title: "Now", menu: true, load: () => import("./now/now.tsx") },
  session: { title: "Log in", menu: false, load: () => import("./session/session.tsx") },
};

const loaded = signal<Readonly<Record<string, Page | "failed">>>({});
const requested = new Set<string>();

async function load(name: string): Promise<void> {
  const page = pages[name];
  if (!page || requested.has(name)) return;
  requested.add(name);
  let component: Page | "failed" = "failed";
  try {
    component = (await page.load()).default;
  } catch {
    requested.delete(name);
  }
  loaded.value = { ...loaded.value, [name]: component };
}

// The page that is shown: the login form stands in for every page until somebody is logged in.
function shown(): string {
  return loginRequired.value ? "session" : route.value.page;
}

function Content() {
  useSignalEffect(() => {
    const name = shown();
    document.title = `${pages[name]?.title ?? "Not found"} – Berth`;
    void load(name);
  });
  const name = shown();
  if (!pages[name]) return <p class="notice">There is no page of this name.</p>;
  const Component = loaded.value[name];
  if (Component === "failed") {
    return <p class="notice" role="alert">The page could not be loaded. Load it again when the service runs.</p>;
  }
  return Component ? <Component key={route.value.id ?? ""} route={route.value} /> : null;
}

function Shell() {
  const current = shown();
  return (
    <>
      <header class="bar">
        <a class="brand" href={href("hosts")}>Berth</a>
        <nav aria-label="Pages">
          {Object.entries(pages).filter(([, page]) => page.menu).map(([name, page]) => (
            <a key={name} href={href(name)} aria-current={name === current ? "page" : undefined}>{page.title}</a>
          ))}
        </nav>
        <Search />
        <Account />
      </header>
      <main id="page">
        {progress.value && <p class="notice" role="status">{progress.value}</p>}
        <Content />
      </main>
    </>
  );
}

start();
void loadSession();
render(<Shell />, document.getElementById("app")!);
