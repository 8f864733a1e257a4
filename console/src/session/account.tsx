// Who is logged in, and the button that ends it.
import { signal } from "@preact/signals";
import { get, loginRequired, request } from "../api.ts";

/** What GET api/session answers. A console without a login, on a developer's machine, has no user. */
interface Session {
  readonly user?: string;
  readonly project?: string;
}

const session = signal<Session>({});

/** Reads who is logged in. */
export async function loadSession(): Promise<void> {
  const answer = await get<Session>("session");
  session.value = answer.ok ? answer.value : {};
}

async function logOut(): Promise<void> {
  await request("DELETE", "session");
  session.value = {};
  loginRequired.value = true;
}

export function Account() {
  const { user, project } = session.value;
  if (!user) return null;
  return (
    <div class="account">
      <span>{project ? `${user} in ${project}` : user}</span>
      <button type="button" onClick={() => void logOut()}>Log out</button>
    </div>
  );
}
