// The hosts as a table. Only the rows that can be seen are in the document, so that 10,000 scroll smoothly.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { title } from "../amounts.ts";
import { Bar } from "../bar.tsx";
import type { Host, Table } from "../cloud.ts";
import { href } from "../router.ts";
import { classesOf, type View } from "./view.ts";

// The height of a row in pixels, as in hosts.css; how many rows are drawn beyond the edges of the window; and by how
// many rows what is drawn moves at once, so that most frames of a scroll draw nothing anew.
const rowHeight = 28;
const margin = 12;
const step = 8;

export function HostTable({ table, hosts, view, sort }: {
  table: Table;
  hosts: readonly Host[];
  view: View;
  sort: (by: string) => void;
}) {
  const body = useRef<HTMLTableSectionElement>(null);
  const window_ = useSignal({ first: 0, count: 60 });
  useEffect(() => {
    const measure = () => {
      const top = body.current?.getBoundingClientRect().top ?? 0;
      const first = Math.max(0, Math.floor((-top / rowHeight - margin) / step) * step);
      const count = Math.ceil(innerHeight / rowHeight) + 2 * margin + step;
      const last = window_.peek();
      if (first !== last.first || count !== last.count) window_.value = { first, count };
    };
    measure();
    addEventListener("scroll", measure, { passive: true });
    addEventListener("resize", measure);
    return () => {
      removeEventListener("scroll", measure);
      removeEventListener("resize", measure);
    };
  }, []);
  const classes = classesOf(table);
  const indexes = classes.map((name) => table.classes.indexOf(name));
  const first = Math.min(window_.value.first, Math.max(0, hosts.length - 1));
  const end = Math.min(hosts.length, first + window_.value.count);
  const columns = 4 + classes.length;
  return (
    <div class="scroller" tabIndex={0} role="region" aria-label="Table of hosts">
      <table class="hosts" aria-rowcount={hosts.length + 1}>
        <thead>
          <tr aria-rowindex={1}>
            <Head name="name" text="Host" sort={sort} view={view} />
            <Head name="state" text="State" sort={sort} view={view} />
            <Head name="zone" text="Zone" sort={sort} view={view} />
            <Head name="providers" text="Providers" sort={sort} view={view} />
            {classes.map((name) => <Head key={name} name={name} text={title(name)} sort={sort} view={view} down />)}
          </tr>
        </thead>
        <tbody ref={body}>
          <Space rows={first} columns={columns} />
          {hosts.slice(first, end).map((host, i) => (
            <tr key={host.id} aria-rowindex={first + i + 2}>
              <th scope="row"><a href={href("hosts", host.id)}>{host.name}</a></th>
              <td class={host.state === "up" || host.state === "sharing" ? "quiet" : host.state === "down" ? "bad" : "warn"}>
                {host.state}
              </td>
              <td>{host.zone}</td>
              <td class="number">{host.providers}</td>
              {classes.map((name, k) => (
                <td key={name}>
                  <Bar used={host.used[indexes[k]!] ?? 0} capacity={host.capacity[indexes[k]!] ?? 0} name={name} />
                </td>
              ))}
            </tr>
          ))}
          <Space rows={hosts.length - end} columns={columns} />
        </tbody>
      </table>
    </div>
  );
}

// Rows that are not drawn.
function Space({ rows, columns }: { rows: number; columns: number }) {
  if (rows <= 0) return null;
  return (
    <tr class="space" aria-hidden="true">
      <td colSpan={columns} style={{ blockSize: `${rows * rowHeight}px` }} />
    </tr>
  );
}

// A heading that sorts. A class begins with the fullest hosts (down).
function Head({ name, text, view, sort, down }: {
  name: string;
  text: string;
  view: View;
  sort: (by: string) => void;
  down?: boolean;
}) {
  const descending = view.sort === "-" + name;
  const ascending = view.sort === name;
  const next = down ? (descending ? name : "-" + name) : ascending ? "-" + name : name;
  return (
    <th scope="col" aria-sort={ascending ? "ascending" : descending ? "descending" : undefined}>
      <button type="button" class="head" title={name === name.toUpperCase() ? name : undefined} onClick={() => sort(next)}>
        {text}
        <span aria-hidden="true">{ascending ? " ▲" : descending ? " ▼" : ""}</span>
      </button>
    </th>
  );
}
