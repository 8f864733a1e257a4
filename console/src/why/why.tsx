import type { PageProps } from "../main.tsx";

export default function Why({ route }: PageProps) {
  return <h1>Why not?{route.id && `: ${route.id}`}</h1>;
}
