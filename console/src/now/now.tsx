import type { PageProps } from "../main.tsx";

export default function Now({ route }: PageProps) {
  return <h1>Now{route.id && `: ${route.id}`}</h1>;
}
