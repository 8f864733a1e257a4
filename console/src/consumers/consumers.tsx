import type { PageProps } from "../main.tsx";

export default function Consumers({ route }: PageProps) {
  return <h1>Consumer{route.id && `: ${route.id}`}</h1>;
}
