// How amounts of resource classes are written. Placement has memory in MiB, disks in GiB, bandwidths in kbit/s.

const binary = ["MiB", "GiB", "TiB", "PiB"];
const decimal = ["kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"];

/** An amount of a class with its unit: "1.5 GiB". */
export function amount(value: number, resourceClass: string): string {
  const scale = scaleOf(resourceClass);
  if (!scale) return group(value);
  let [index, step] = [scale.first, scale.step];
  let scaled = value;
  while (Math.abs(scaled) >= step && index < scale.units.length - 1) {
    scaled /= step;
    index++;
  }
  return `${short(scaled)} ${scale.units[index]}`;
}

/** What is used of a capacity, in the unit of the latter: "0.5 of 2 GiB". */
export function usage(used: number, capacity: number, resourceClass: string): string {
  const [whole, part] = [amount(capacity, resourceClass), amount(used, resourceClass)];
  const [number, unit] = part.split(" ");
  return unit !== undefined && whole.endsWith(" " + unit) || used === 0 ? `${number} of ${whole}` : `${part} of ${whole}`;
}

/** How much of a capacity is used, from 0; undefined where there is none. More than 1 is possible. */
export function fraction(used: number, capacity: number): number | undefined {
  if (capacity > 0) return used / capacity;
  return used > 0 ? 1 : undefined;
}

/** A fraction as a whole percentage; "<1 %" for what is little, and not 100 % for what is not full. */
export function percent(part: number | undefined): string {
  if (part === undefined) return "–";
  if (part > 0 && part < 0.01) return "<1 %";
  if (part < 1) return `${Math.min(99, Math.round(100 * part))} %`;
  return `${Math.round(100 * part)} %`;
}

/** The name of a class, shorter where it is a well-known one. */
export function title(resourceClass: string): string {
  return titles[resourceClass] ?? resourceClass.replace(/^CUSTOM_/, "");
}

const titles: Record<string, string> = {
  MEMORY_MB: "Memory",
  DISK_GB: "Disk",
  NET_BW_EGR_KILOBIT_PER_SEC: "Egress",
  NET_BW_IGR_KILOBIT_PER_SEC: "Ingress",
  NET_PACKET_RATE_KILOPACKET_PER_SEC: "Packets",
  NET_PACKET_RATE_EGR_KILOPACKET_PER_SEC: "Packets out",
  NET_PACKET_RATE_IGR_KILOPACKET_PER_SEC: "Packets in",
};

function scaleOf(resourceClass: string): { units: string[]; first: number; step: number } | undefined {
  if (resourceClass === "MEMORY_MB") return { units: binary, first: 0, step: 1024 };
  if (resourceClass === "DISK_GB") return { units: binary, first: 1, step: 1024 };
  if (/^NET_BW_.*_KILOBIT_PER_SEC$/.test(resourceClass)) return { units: decimal, first: 0, step: 1000 };
  if (/KILOPACKET_PER_SEC$/.test(resourceClass)) return { units: ["kpps", "Mpps"], first: 0, step: 1000 };
  return undefined;
}

function short(value: number): string {
  return Number.isInteger(value) ? group(value) : value.toFixed(Math.abs(value) < 10 ? 2 : 1).replace(/\.?0+$/, "");
}

function group(value: number): string {
  return value.toLocaleString("en-US");
}

/** A number of things: "1 host", "3 hosts". */
export function count(number: number, thing: string): string {
  return `${group(number)} ${thing}${number === 1 ? "" : "s"}`;
}
