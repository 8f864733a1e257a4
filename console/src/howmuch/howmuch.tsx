import type { PageProps } from "../main.tsx";

export default function Howmuch({ route }: PageProps) {
  return <h1>How much?{route.id && `: ${route.id}`}</h1>;
}
