// An answer that a page shows for what its address says.
import { signal, type Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { type Failure, get } from "./api.ts";

/** An answer, why there is none, or neither while it is read. */
export interface Answer<T> {
  readonly value?: T;
  readonly failure?: Failure;
}

/** Reads api/PATH whenever the path is another one; "" reads nothing. */
export function useAnswer<T>(store: Signal<{ path: string } & Answer<T>>, path: string): Answer<T> | undefined {
  useEffect(() => {
    if (path === "" || (store.peek().path === path && store.peek().value)) return;
    store.value = { path };
    const abort = new AbortController();
    void get<T>(path, abort.signal).then((read) => {
      if (!abort.signal.aborted) store.value = read.ok ? { path, value: read.value } : { path, failure: read.failure };
    });
    return () => abort.abort();
  }, [path]);
  return path === "" ? undefined : store.value.path === path ? store.value : {};
}

/** A place for answers of one kind. */
export function answers<T>(): Signal<{ path: string } & Answer<T>> {
  return signal<{ path: string } & Answer<T>>({ path: "" });
}
