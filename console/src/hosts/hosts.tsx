import type { PageProps } from "../main.tsx";

export default function Hosts({ route }: PageProps) {
  return <h1>Hosts{route.id && `: ${route.id}`}</h1>;
}
