// Who is logged in, at which cloud, and the button that ends it.
import { signal } from "@preact/signals";
import { get, loginRequired, request } from "../api.ts";

/** What GET api/session answers. */
interface Session {
  /** none: everybody may look. key: whoever opens the URL that the command has printed. keystone: users. */
  readonly login: "none" | "key" | "keystone";
  readonly begun: boolean;
  readonly user?: string;
  readonly project?: string;
  readonly source?: string;
}

/** Who is logged in; undefined until it is known. */
export const session = signal<Session | undefined>(undefined);

/** Reads who is logged in. Without a session the login form is shown. */
export async function loadSession(): Promise<void> {
  const answer = await get<Session>("session");
  if (!answer.ok) return;
  session.value = answer.value;
  loginRequired.value = !answer.value.begun;
}

async function logOut(): Promise<void> {
  await request("DELETE", "session");
  location.reload(); // nothing of what the user has seen remains for the next one
}

export function Account() {
  const { login, begun, user, project, source } = session.value ?? {};
  if (!begun || loginRequired.value) return null;
  return (
    <div class="account">
      {source && <span class="source">{source}</span>}
      {user && <span>{project ? `${user} in ${project}` : user}</span>}
      {login === "keystone" && <button type="button" onClick={() => void logOut()}>Log out</button>}
    </div>
  );
}
