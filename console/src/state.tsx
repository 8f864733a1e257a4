// What pages about the cloud say above what they show.
import { connection, outage } from "./cloud.ts";

/** Whether the table is up to date. */
export function State() {
  if (outage.value) {
    return <p class="notice" role="alert">The cloud cannot be read; this is as it was before. {outage.value}</p>;
  }
  if (connection.value === "lost") {
    return <p class="notice" role="alert">The console does not answer; this is as it was before. It is tried again.</p>;
  }
  return null;
}
