// The address of the page is the state of the router: "hosts", "hosts/ID", "why?resources=VCPU:4",
// below the directory from which this script was loaded. Links are plain <a href={href(…)}>.
import { signal } from "@preact/signals";

/** A route is what an address says: the page, the object that it is about, and the query. */
export interface Route {
  readonly page: string;
  readonly id: string | undefined;
  readonly query: URLSearchParams;
}

/** What a page gets. It is made again when another object is shown, not when the query changes. */
export interface PageProps {
  readonly route: Route;
}

/** The path of the console, "/console/", with whatever prefix a proxy has put before it. */
export const root = new URL(".", import.meta.url).pathname;

/** The route of the address that is shown. */
export const route = signal<Route>(parse(location));

/** The route that an address stands for. The root is the page of the hosts. */
export function parse(address: { pathname: string; search: string }): Route {
  const path = address.pathname.startsWith(root) ? address.pathname.slice(root.length) : "";
  const [page = "", id = ""] = path.split("/");
  return { page: page || "hosts", id: decode(id), query: new URLSearchParams(address.search) };
}

/** The address of a route. Values of the query that are empty are left out. */
export function href(page: string, id?: string, query?: Record<string, string>): string {
  const params = new URLSearchParams(Object.entries(query ?? {}).filter(([, value]) => value !== ""));
  const path = root + page + (id === undefined ? "" : "/" + encodeURIComponent(id));
  return params.size > 0 ? path + "?" + params : path;
}

/** Shows an address of the console; replace does so without a step in the history. */
export function navigate(to: string, options?: { replace: boolean }): void {
  history[options?.replace ? "replaceState" : "pushState"](null, "", to);
  route.value = parse(location);
  if (!options?.replace) scrollTo(0, 0);
}

/** Follows links of the console without loading the page again, and the buttons of the history. */
export function start(): void {
  addEventListener("popstate", () => (route.value = parse(location)));
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (!link || event.defaultPrevented || event.button !== 0 || link.target || link.hasAttribute("download")) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    if (link.origin !== location.origin || !link.pathname.startsWith(root)) return;
    if (link.hash && link.pathname === location.pathname && link.search === location.search) return;
    event.preventDefault();
    navigate(link.href);
  });
}

// A part of a path as text; one with a broken escape is no name of anything.
function decode(part: string): string | undefined {
  try {
    return decodeURIComponent(part) || undefined;
  } catch {
    return undefined;
  }
}
