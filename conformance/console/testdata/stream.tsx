// A page that shows the state of a stream and what it has received.
import { signal } from "@preact/signals";
import { follow } from "../api.ts";

const lines = signal<readonly string[]>([]);
const stream = follow("events?after=0", ({ id, name, data }) => {
  lines.value = [...lines.value, `${id} ${name} ${data}`];
});

export default function Now() {
  return (
    <>
      <h1>Stream</h1>
      <p>The stream is {stream.state}.</p>
      <pre>{lines.value.join("\n")}</pre>
    </>
  );
}
