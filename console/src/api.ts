// Requests to the console's API: JSON answers with failures as values, and the stream of changes.
import { type ReadonlySignal, signal } from "@preact/signals";
import { root } from "./router.ts";

/** Why a request has no answer. */
export interface Failure {
  /**
   * login: nobody is logged in, or the session has ended. refused: policy forbids it. missing: there is no such
   * object. invalid: the request is wrong. failed: the service could not answer. early: it cannot answer yet.
   * lost: no answer arrived.
   */
  readonly kind: "login" | "refused" | "missing" | "invalid" | "failed" | "early" | "lost";
  /** A sentence for whoever reads the page. */
  readonly message: string;
}

/** The answer to a request, or why there is none. */
export type Result<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly failure: Failure };

/** Whether the login form has to be shown: a request was answered with 401. */
export const loginRequired = signal(false);

/** How far the first reading of the cloud is, "" when there is no request that waits for it. */
export const progress = signal("");

/**
 * GET of api/PATH. The signal aborts it when the page that needs the answer is left. It waits while the cloud is read
 * for the first time.
 */
export async function get<T>(path: string, abort?: AbortSignal): Promise<Result<T>> {
  for (;;) {
    const answer = await request<T>("GET", path, undefined, abort);
    if (answer.ok || answer.failure.kind !== "early") {
      if (!abort?.aborted) progress.value = "";
      return answer;
    }
    progress.value = answer.failure.message;
    await pause(firstDelay, abort);
  }
}

/** A request to api/PATH with a body of JSON. Answers without a body are undefined. */
export async function request<T>(method: string, path: string, body?: unknown, abort?: AbortSignal): Promise<Result<T>> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  try {
    const init: RequestInit = { method, headers, signal: abort ?? null };
    if (body !== undefined) init.body = JSON.stringify(body);
    const answer = await fetch(root + "api/" + path, init);
    if (!answer.ok) return { ok: false, failure: await failureOf(answer) };
    const text = await answer.text();
    return { ok: true, value: (text === "" ? undefined : JSON.parse(text)) as T };
  } catch (error) {
    return { ok: false, failure: { kind: "lost", message: String(error) } };
  }
}

async function failureOf(answer: Response): Promise<Failure> {
  const kind = answer.headers.has("Retry-After") ? "early" : kindOf(answer.status);
  if (kind === "login") loginRequired.value = true;
  return { kind, message: detailOf(await answer.text()) || `${answer.status} ${answer.statusText}` };
}

function kindOf(status: number): Failure["kind"] {
  switch (status) {
    case 401:
      return "login";
    case 403:
      return "refused";
    case 404:
      return "missing";
    default:
      return status < 500 ? "invalid" : "failed";
  }
}

// The text of an error, in the form that OpenStack's placement has: {"errors": [{"detail": …}]}.
function detailOf(text: string): string {
  try {
    const body = JSON.parse(text) as { errors?: { detail?: unknown }[] };
    return String(body.errors?.[0]?.detail ?? "");
  } catch {
    return "";
  }
}

/** An event of a stream: its id, from which the stream can be resumed, its name and its data. */
export interface StreamEvent {
  readonly id: string;
  readonly name: string;
  readonly data: string;
}

/** A stream that runs until it is closed. */
export interface Stream {
  /** connecting: no answer yet. connected: events arrive. lost: the connection broke, and is made again. */
  readonly state: ReadonlySignal<"connecting" | "connected" | "lost">;
  close(): void;
}

// How long to wait before the next attempt, and how long a stream may be silent: the service sends a comment
// every 15 s.
const firstDelay = 1_000;
const longestDelay = 30_000;
const longestSilence = 45_000;

/**
 * Follows the server-sent events of api/PATH. After a broken connection it resumes after the last event that it
 * received, by the header Last-Event-ID. A stream whose login has ended waits until somebody logs in.
 */
export function follow(path: string, receive: (event: StreamEvent) => void): Stream {
  const state = signal<"connecting" | "connected" | "lost">("connecting");
  const closed = new AbortController();
  let last = "";
  const run = async () => {
    let delay = firstDelay;
    while (!closed.signal.aborted) {
      const received = await readStream(path, last, closed.signal, {
        open: () => (state.value = "connected"),
        event: (event) => {
          last = event.id;
          receive(event);
        },
      });
      if (closed.signal.aborted) return;
      state.value = "lost";
      delay = received ? firstDelay : Math.min(2 * delay, longestDelay);
      await pause(delay, closed.signal);
      await loggedIn(closed.signal);
    }
  };
  void run();
  return { state, close: () => closed.abort() };
}

// Reads one connection to its end, whatever ends it, and reports whether it was a stream.
async function readStream(
  path: string,
  last: string,
  closed: AbortSignal,
  on: { open: () => void; event: (event: StreamEvent) => void },
): Promise<boolean> {
  const silence = new AbortController();
  let opened = false;
  let timer = setTimeout(() => silence.abort(), longestSilence);
  try {
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (last !== "") headers["Last-Event-ID"] = last;
    const answer = await fetch(root + "api/" + path, { headers, signal: AbortSignal.any([closed, silence.signal]) });
    if (!answer.ok || !answer.body) {
      await failureOf(answer);
      return false;
    }
    opened = true;
    on.open();
    const parser = new EventParser(last, on.event);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return opened;
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), longestSilence);
      parser.push(value);
    }
  } catch {
    return opened;
  } finally {
    clearTimeout(timer);
  }
}

/** Splits the text of a stream into events, as the HTML standard has it, for lines that end in \n or \r\n. */
export class EventParser {
  #rest = "";
  #id: string;
  #name = "";
  #data: string[] = [];
  readonly #receive: (event: StreamEvent) => void;

  constructor(id: string, receive: (event: StreamEvent) => void) {
    this.#id = id;
    this.#receive = receive;
  }

  push(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#line(line.endsWith("\r") ? line.slice(0, -1) : line);
  }

  #line(line: string): void {
    if (line === "") {
      if (this.#data.length > 0) {
        this.#receive({ id: this.#id, name: this.#name || "message", data: this.#data.join("\n") });
      }
      this.#name = "";
      this.#data = [];
      return;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "id") this.#id = value;
    else if (field === "event") this.#name = value;
    else if (field === "data") this.#data.push(value);
  }
}

// Waits for some milliseconds, or until the signal aborts.
function pause(delay: number, abort?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, delay);
    abort?.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}

// Waits until no login is required, or until the signal aborts.
function loggedIn(abort: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    let stop = () => {};
    const finish = () => (stop(), resolve());
    stop = loginRequired.subscribe((required) => {
      if (!required) queueMicrotask(finish); // the first call is before there is a stop
    });
    abort.addEventListener("abort", finish, { once: true });
  });
}
