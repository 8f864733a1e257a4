// The hosts as a map: a square each, coloured by how full it is of one or two classes.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { fraction, percent, title, usage } from "../amounts.ts";
import { level } from "../bar.tsx";
import type { Host, Table } from "../cloud.ts";
import { href, navigate } from "../router.ts";
import type { View } from "./view.ts";

// Squares shrink to this many pixels before the map becomes higher than the window.
const smallest = 8;
const largest = 36;

export function Heat({ table, hosts, view }: { table: Table; hosts: readonly Host[]; view: View }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const cursor = useSignal(-1);
  const width = useSignal(0);
  const first = table.classes.indexOf(view.first);
  const second = view.second === "" ? -1 : table.classes.indexOf(view.second);
  const size = squareSize(width.value, hosts.length);
  const perRow = Math.max(1, Math.floor(width.value / size));
  const rows = Math.ceil(hosts.length / perRow);

  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => (width.value = Math.floor(entry!.contentRect.width)));
    observer.observe(canvas.current!.parentElement!);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    if (width.value === 0) return; // a column of all hosts would be higher than a canvas can be, for good
    const draw = () => paint(canvas.current!, hosts, { first, second, size, perRow, rows, cursor: cursor.value });
    draw();
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", draw);
    return () => scheme.removeEventListener("change", draw);
  }, [hosts, first, second, size, perRow, rows, cursor.value]);

  const at = (event: { offsetX: number; offsetY: number }) => {
    const column = Math.floor(event.offsetX / size);
    const index = Math.floor(event.offsetY / size) * perRow + column;
    return column < perRow && index < hosts.length ? index : -1;
  };
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: perRow, ArrowUp: -perRow }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      cursor.value = Math.min(hosts.length - 1, Math.max(0, cursor.value + (cursor.value < 0 ? 1 : step)));
    } else if (event.key === "Enter" && hosts[cursor.value]) {
      navigate(href("hosts", hosts[cursor.value]!.id));
    }
  };
  const host = hosts[cursor.value];
  return (
    <div class="heat">
      <p class="heat-text" aria-live="polite">
        {host
          ? <><strong>{host.name}</strong> {[first, second].filter((k) => k >= 0).map((k) => describe(table, host, k)).join(", ")}</>
          : <span class="quiet">Point at a square, or use the arrow keys; a click or Enter opens the host.</span>}
      </p>
      <div>
        <canvas
          ref={canvas}
          tabIndex={0}
          role="application"
          aria-label={`Map of ${hosts.length} hosts by ${title(view.first)}; the view "table" has the same as a table`}
          onPointerMove={(event) => (cursor.value = at(event))}
          onPointerLeave={() => (cursor.value = -1)}
          onClick={(event) => {
            const target = hosts[at(event)];
            if (target) navigate(href("hosts", target.id));
          }}
          onKeyDown={move}
        />
      </div>
      <p class="legend" aria-hidden="true">
        {(["none", "empty", "low", "middle", "high", "full"] as const).map((name) => (
          <span key={name}><span class={`swatch ${name}`} /> {legend[name]}</span>
        ))}
      </p>
    </div>
  );
}

const legend = { none: "has none", empty: "empty", low: "below 60 %", middle: "below 90 %", high: "below 100 %", full: "full" };

function describe(table: Table, host: Host, k: number): string {
  const [used, capacity, name] = [host.used[k] ?? 0, host.capacity[k] ?? 0, table.classes[k] ?? ""];
  const part = fraction(used, capacity);
  return part === undefined ? `no ${title(name)}` : `${title(name)} ${usage(used, capacity, name)} (${percent(part)})`;
}

// The size of a square with which all fit on about one screen.
function squareSize(width: number, count: number): number {
  const area = Math.max(1, width * innerHeight * 0.7);
  return Math.max(smallest, Math.min(largest, Math.floor(Math.sqrt(area / Math.max(1, count)))));
}

interface Geometry {
  first: number;
  second: number;
  size: number;
  perRow: number;
  rows: number;
  cursor: number;
}

// Draws the squares. The second class has the lower half.
function paint(canvas: HTMLCanvasElement, hosts: readonly Host[], g: Geometry): void {
  const scale = devicePixelRatio;
  const [width, height] = [g.perRow * g.size, Math.max(1, g.rows * g.size)];
  canvas.style.inlineSize = `${width}px`;
  canvas.style.blockSize = `${height}px`;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const context = canvas.getContext("2d")!;
  context.scale(scale, scale);
  const style = getComputedStyle(canvas);
  const colours = Object.fromEntries(Object.keys(legend).map((name) => [name, style.getPropertyValue(`--heat-${name}`)]));
  const gap = g.size > 12 ? 2 : 1;
  const colour = (host: Host, k: number) => colours[level(k < 0 ? undefined : fraction(host.used[k] ?? 0, host.capacity[k] ?? 0))]!;
  hosts.forEach((host, i) => {
    const [x, y] = [(i % g.perRow) * g.size, Math.floor(i / g.perRow) * g.size];
    const side = g.size - gap;
    context.fillStyle = colour(host, g.first);
    context.fillRect(x, y, side, g.second < 0 ? side : side / 2);
    if (g.second >= 0) {
      context.fillStyle = colour(host, g.second);
      context.fillRect(x, y + side / 2, side, side / 2);
    }
    if (host.state === "down" || host.state === "disabled") {
      context.strokeStyle = colours.full!;
      context.beginPath();
      context.moveTo(x, y + side);
      context.lineTo(x + side, y);
      context.stroke();
    }
    if (i === g.cursor) {
      context.strokeStyle = style.color;
      context.lineWidth = 2;
      context.strokeRect(x, y, side, side);
      context.lineWidth = 1;
    }
  });
}
