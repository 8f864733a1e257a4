// The login form. What is typed here goes to the service only, which gets a token from Keystone for it.
import { useSignal } from "@preact/signals";
import type { TargetedSubmitEvent } from "preact";
import { request } from "../api.ts";
import { href, navigate, route } from "../router.ts";
import { loadSession, session } from "./account.tsx";

type Method = "password" | "application_credential";

// A field of the form: its key in the body of POST api/session, and what it is called here.
interface Field {
  readonly key: string;
  readonly label: string;
  readonly secret?: true;
  readonly autocomplete: AutoFill;
  readonly value?: string;
}

const fields: Record<Method, readonly Field[]> = {
  password: [
    { key: "user", label: "User", autocomplete: "username" },
    { key: "password", label: "Password", secret: true, autocomplete: "current-password" },
    { key: "domain", label: "Domain", autocomplete: "on", value: "Default" },
    { key: "project", label: "Project", autocomplete: "on" },
  ],
  application_credential: [
    { key: "application_credential_id", label: "ID", autocomplete: "username" },
    { key: "application_credential_secret", label: "Secret", secret: true, autocomplete: "current-password" },
  ],
};

export default function Login() {
  const method = useSignal<Method>("password");
  const message = useSignal("");
  const busy = useSignal(false);

  const submit = async (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    busy.value = true;
    message.value = "";
    const body = Object.fromEntries(fields[method.value].map(({ key }) => [key, data.get(key)]));
    const answer = await request("POST", "session", body);
    busy.value = false;
    if (!answer.ok) {
      message.value = answer.failure.message;
      return;
    }
    const before = session.value;
    await loadSession();
    if (before?.begun && (before.user !== session.value?.user || before.project !== session.value?.project)) {
      location.reload(); // what the user before has seen is not for this one
      return;
    }
    if (route.value.page === "session") navigate(href("hosts"));
  };

  const ended = session.value?.begun && (
    <p class="notice" role="status">The session has ended. After a login this page is shown again.</p>
  );
  if (session.value?.login === "key") {
    return (
      <>
        <h1>Log in</h1>
        <p class="notice">Open the address that the command berth console has printed: it has the key.</p>
      </>
    );
  }
  return (
    <form class="login" onSubmit={(event) => void submit(event)}>
      <h1>Log in</h1>
      {ended}
      {!isSecureContext && (
        <p class="notice">Log in over HTTPS: from here the browser would send the password in the clear, and keep no session.</p>
      )}
      <fieldset class="choices">
        <legend>With</legend>
        {(["password", "application_credential"] as const).map((name) => (
          <label key={name}>
            <input type="radio" name="method" checked={method.value === name} onChange={() => (method.value = name)} />
            {name === "password" ? "a password" : "an application credential"}
          </label>
        ))}
      </fieldset>
      {fields[method.value].map((field) => (
        <label key={field.key}>
          {field.label}
          {input(field)}
        </label>
      ))}
      <button type="submit" disabled={busy.value}>Log in</button>
      {message.value && <p class="notice" role="alert">{message.value}</p>}
    </form>
  );
}

function input(field: Field) {
  const attributes = { name: field.key, autocomplete: field.autocomplete, spellcheck: false, required: true };
  return field.secret
    ? <input type="password" {...attributes} />
    : <input type="text" {...attributes} defaultValue={field.value ?? ""} />;
}
