/**
 * The door that text passes before it is stored, logged or shown. It hides all values of SecretStores,
 * replaced or deleted values that a run in progress may still have, values in the input of an operation
 * in progress, and the daemon's own secrets.
 *
 * @module
 */

import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import { concatBytes, utf8 } from "../base/bytes.ts";
import type { Catalog, CatalogChange } from "../resources/catalog.ts";
import type { Resource } from "../resources/resource.ts";
import type { SecretStoreSpec } from "../resources/secret_store.ts";
import { Redactor, SecretPattern } from "./redact.ts";
import { secretForms } from "./secret_forms.ts";

/** A time in which no secret changed. */
interface Epoch {
  /** Number of runs in progress that began in it. */
  running: number;
  /** Values that were replaced or deleted at its end. */
  readonly retired: readonly string[];
}

/** Hides the secrets that the daemon knows. */
export class KnownSecrets {
  #catalog: Catalog | undefined;
  /** The daemon's own secrets. */
  readonly #own = new Set<string>();
  /** The secrets in the inputs of operations in progress, and those that end by themselves. */
  readonly #inputs = new Set<readonly string[]>();
  /** The epochs before the present one, from that in which the oldest run in progress began. */
  readonly #past: Epoch[] = [];
  #now = { running: 0 };
  #pattern: SecretPattern | undefined;
  /** The forms of each value, kept because a rotation changes one value of many. */
  #forms: ReadonlyMap<string, readonly string[]> = new Map();

  /** Hides the SecretStores of `catalog` from now on. */
  follow(catalog: Catalog): void {
    this.#catalog = catalog;
    this.#pattern = undefined;
    catalog.beforeChange((changes) => this.#retire(catalog, changes));
  }

  /** Hides `values` from now on: the daemon's own secrets, which are in no SecretStore. */
  know(...values: readonly string[]): void {
    for (const value of values) {
      if (this.#own.has(value)) continue;
      this.#own.add(value);
      this.#pattern = undefined;
    }
  }

  /**
   * Notes that a run begins, until it is disposed. A run may read any value that exists while it lasts,
   * so all of them are hidden until it ends, even if they are replaced. `inputs` are secrets that only
   * this run has.
   */
  runBegins(inputs: readonly string[] = []): Disposable {
    const epoch = this.#now;
    epoch.running++;
    const isNews = inputs.some((value) => !this.#forms.has(value));
    if (inputs.length > 0) this.#inputs.add(inputs); // most runs have none
    if (isNews) this.#pattern = undefined;
    return {
      [Symbol.dispose]: () => {
        epoch.running--;
        this.#inputs.delete(inputs);
        if (isNews) this.#pattern = undefined;
        this.#forget();
      },
    };
  }

  /** Hides a value until it is disposed: one that ends by itself, such as a token of an hour. */
  hide(value: string): Disposable {
    const values = [value];
    this.#inputs.add(values);
    this.#pattern = undefined;
    return {
      [Symbol.dispose]: () => {
        this.#inputs.delete(values);
        this.#pattern = undefined;
      },
    };
  }

  /** A redactor for one stream of output. */
  redactor(): Redactor {
    return new Redactor(() => this.#current());
  }

  /** `text` with every known value hidden. */
  redact(text: string): string {
    if (text === "" || this.#current().isEmpty) return text;
    const redactor = this.redactor();
    return DECODER.decode(concatBytes(redactor.push(utf8(text)), redactor.flush()));
  }

  /**
   * The indices in `bytes` at which known values begin, in order; `undefined` between two parts of
   * the bytes, so that the caller can let other work go on.
   */
  *search(bytes: Uint8Array): Generator<number | undefined, void> {
    for (const span of this.#current().spansIn(bytes)) yield span?.from;
  }

  /** A copy of `value` in which every text is redacted, also the keys of objects. */
  redactAll<Value>(value: Value): Value {
    return this.#inside(value) as Value;
  }

  /** A copy of a refusal with redacted texts; its cause is as it was, because only the log has it. */
  redactError({ code, message, details, reason, retryAfterSecs, cause }: AppError): AppError {
    return new AppError(code, this.redact(message), {
      details: this.redactAll(details),
      reason: this.redact(reason),
      ...defined({ retryAfterSecs, cause }),
    });
  }

  #inside(value: unknown): unknown {
    if (typeof value === "string") return this.redact(value);
    if (Array.isArray(value)) return value.map((one) => this.#inside(one));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => [this.redact(key), this.#inside(one)]),
    );
  }

  #current(): SecretPattern {
    return this.#pattern ??= this.#build();
  }

  #build(): SecretPattern {
    const values = new Set([
      ...this.#own,
      ...[...this.#inputs].flat(),
      ...((this.#catalog?.list("SecretStore") ?? []) as Resource<SecretStoreSpec>[])
        .flatMap(valuesOf),
      ...this.#past.flatMap(({ retired }) => retired),
    ]);
    const before = this.#forms;
    const forms = new Map([...values].map((one) => [one, before.get(one) ?? secretForms(one)]));
    this.#forms = forms;
    return new SecretPattern([...forms.values()].flat());
  }

  #retire(catalog: Catalog, changes: readonly CatalogChange[]): void {
    const keys = changes.map((change) => change.op === "put" ? change.resource : change.key)
      .filter(({ kind }) => kind === "SecretStore");
    if (keys.length === 0) return;
    const retired = keys.flatMap(({ kind, project, name }) => {
      const before = catalog.find<SecretStoreSpec>(kind, project, name);
      return before === undefined ? [] : valuesOf(before);
    });
    this.#past.push(Object.assign(this.#now, { retired }));
    this.#now = { running: 0 };
    this.#pattern = undefined;
    this.#forget();
  }

  /** Forgets values that were retired before the oldest run in progress began: no run has them. */
  #forget(): void {
    const kept = this.#past.findIndex(({ running }) => running > 0);
    if (kept === 0 || this.#past.length === 0) return;
    this.#past.splice(0, kept === -1 ? this.#past.length : kept);
    this.#pattern = undefined;
  }
}

const DECODER = new TextDecoder("utf-8", { ignoreBOM: true });

function valuesOf({ spec }: Resource<SecretStoreSpec>): readonly string[] {
  return Object.values(spec.data);
}
