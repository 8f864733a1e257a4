// A tree of providers as a drawing: a box for each provider with a bar for each class, in which each allocation is
// a segment. What the pointer is on is marked in all boxes.
import { signal } from "@preact/signals";
import { amount, count, fraction, percent, title, usage } from "./amounts.ts";
import type { RecordsInventory as Inventory, RecordsProvider as Provider } from "./api.gen.ts";
import { level } from "./bar.tsx";
import { href, navigate } from "./router.ts";

/** The consumer that is marked in all boxes, "" for none. */
export const marked = signal("");

interface Names {
  /** What a consumer is called. */
  readonly consumer: (id: string) => string;
  /** What an aggregate is called. */
  readonly aggregate: (id: string) => string;
}

/** The tree of the providers. With only, boxes without an allocation of anybody are one line. */
export function Tree({ providers, names, only }: { providers: readonly Provider[]; names: Names; only?: boolean }) {
  const children = new Map<string, Provider[]>();
  for (const p of providers) {
    const parent = p.depth === 0 ? "" : p.parent_provider_uuid ?? "";
    children.set(parent, [...(children.get(parent) ?? []), p]);
  }
  return <Level list={children.get("") ?? []} children_={children} prefix="" names={names} only={only ?? false} />;
}

interface LevelProps {
  list: readonly Provider[];
  children_: ReadonlyMap<string, Provider[]>;
  prefix: string;
  names: Names;
  only: boolean;
}

function Level({ list, children_, prefix, names, only }: LevelProps) {
  const node = (p: Provider) => (
    <li key={p.uuid}>
      <Box provider={p} prefix={prefix} names={names} brief={only && p.allocations.length === 0} />
      {children_.has(p.uuid) && (
        <Level list={children_.get(p.uuid)!} children_={children_} prefix={p.name} names={names} only={only} />
      )}
    </li>
  );
  return (
    <ul class={prefix === "" ? "tree" : undefined}>
      {groups(list, children_).map((group) => group.length < 4 ? group.map(node) : (
        <li key={group[0]!.uuid}>
          <details class="box">
            <summary>
              {group.length} × {shape(group[0]!, prefix)}, {group.filter((p) => p.inventories.some((i) => i.used > 0)).length} used
            </summary>
            <ul>{group.map(node)}</ul>
          </details>
        </li>
      ))}
    </ul>
  );
}

// Siblings that are alike follow each other, and are a group: without children, with the same totals and traits.
function groups(list: readonly Provider[], children: ReadonlyMap<string, Provider[]>): Provider[][] {
  const key = (p: Provider) =>
    children.has(p.uuid) ? p.uuid : JSON.stringify([p.inventories.map((i) => [i.resource_class, i.total]), p.traits]);
  const all = new Map<string, Provider[]>();
  for (const p of list) all.set(key(p), [...(all.get(key(p)) ?? []), p]);
  return [...all.values()];
}

// What providers that are alike are called: the beginning that their names have in common, or their class.
function shape(p: Provider, prefix: string): string {
  const classes = p.inventories.map((i) => title(i.resource_class)).join(", ");
  return classes || localName(p.name, prefix);
}

/** The part of a name that the parent's does not have. */
export function localName(name: string, parent: string): string {
  const rest = parent !== "" && name.startsWith(parent) ? name.slice(parent.length).replace(/^[:_ ]+/, "") : name;
  return rest || name;
}

function Box({ provider: p, prefix, names, brief }: { provider: Provider; prefix: string; names: Names; brief: boolean }) {
  if (brief) return <div class="box brief quiet" title={p.uuid}>{localName(p.name, prefix)}</div>;
  const aggregates = p.aggregates.map((id) => names.aggregate(id));
  return (
    <section class="box" aria-label={p.name}>
      <h3 title={`${p.name}\n${p.uuid}`}>
        {localName(p.name, prefix)} <span class="quiet">generation {p.generation}</span>
      </h3>
      {p.inventories.map((inventory) => (
        <Segments key={inventory.resource_class} inventory={inventory} provider={p} names={names} />
      ))}
      {p.traits.length + aggregates.length > 0 && (
        <details>
          <summary>
            {count(p.traits.length, "trait")}{aggregates.length > 0 && ", " + count(aggregates.length, "aggregate")}
          </summary>
          <ul class="words">
            {aggregates.map((name) => <li key={name}>aggregate {name}</li>)}
            {p.traits.map((name) => <li key={name}><code>{name}</code></li>)}
          </ul>
        </details>
      )}
    </section>
  );
}

// A class of a provider: its numbers, and a bar with a segment for each allocation.
function Segments({ inventory: i, provider: p, names }: { inventory: Inventory; provider: Provider; names: Names }) {
  const name = i.resource_class;
  const held = p.allocations.filter((a) => (a.resources[name] ?? 0) > 0);
  const known = held.reduce((sum, a) => sum + (a.resources[name] ?? 0), 0);
  const whole = Math.max(i.capacity, i.used, 1);
  const share = (value: number) => ({ inlineSize: `${100 * value / whole}%` });
  const facts = [
    i.reserved > 0 ? `${amount(i.reserved, name)} reserved` : "",
    i.allocation_ratio !== 1 ? `ratio ${i.allocation_ratio}` : "",
    i.free < 0 ? `${amount(-i.free, name)} too much` : `${amount(i.free, name)} free`,
  ].filter((text) => text !== "");
  return (
    <div class="inventory">
      <span class="inventory-text">
        <span title={name}>{title(name)}</span> {usage(i.used, i.capacity, name)}{" "}
        <span class={i.free < 0 ? "bad" : "quiet"}>{percent(fraction(i.used, i.capacity))}, {facts.join(", ")}</span>
      </span>
      <span class={`segments ${level(fraction(i.used, i.capacity))}`} aria-hidden="true">
        {held.map((a) => (
          // Too narrow for a finger: who has what is a list of links beside the tree. This is for the pointer.
          <i
            key={a.consumer_uuid}
            class={marked.value === a.consumer_uuid ? "marked" : undefined}
            style={share(a.resources[name] ?? 0)}
            title={`${names.consumer(a.consumer_uuid)}: ${amount(a.resources[name] ?? 0, name)}`}
            onPointerEnter={() => (marked.value = a.consumer_uuid)}
            onPointerLeave={() => (marked.value = "")}
            onClick={() => navigate(href("consumers", a.consumer_uuid))}
          />
        ))}
        {i.used > known && <span style={share(i.used - known)} title={`others: ${amount(i.used - known, name)}`} />}
      </span>
    </div>
  );
}
