/**
 * The one door that text passes before it is stored, logged or shown: hides every value of every
 * SecretStore, those that a run in progress may have been given and that were replaced or deleted
 * since, those that an operation in progress was given, and the daemon's own.
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

/** A span of time in which no secret changed. */
interface Epoch {
  /** Runs in progress that began in it. */
  running: number;
  /** Values that were replaced or deleted at its end. */
  readonly retired: readonly string[];
}

/** Knows which values there are to hide. */
export class KnownSecrets {
  #catalog: Catalog | undefined;
  /** The daemon's own. */
  readonly #own = new Set<string>();
  /** Of the operations in progress. */
  readonly #given = new Set<readonly string[]>();
  /** From the one in which the oldest run in progress began to the last that is over. */
  readonly #past: Epoch[] = [];
  #now = { running: 0 };
  #pattern: SecretPattern | undefined;
  /** Forms by value: a rotation changes one of many. */
  #forms: ReadonlyMap<string, readonly string[]> = new Map();

  /** Follows what `catalog` holds from now on; there may be none yet while a daemon starts. */
  follow(catalog: Catalog): void {
    this.#catalog = catalog;
    this.#pattern = undefined;
    catalog.beforeChange((changes) => this.#retire(catalog, changes));
  }

  /**
   * Hides these from now on: what lets the daemon itself in elsewhere, and stands in no SecretStore.
   */
  know(...values: readonly string[]): void {
    for (const value of values) {
      if (this.#own.has(value)) continue;
      this.#own.add(value);
      this.#pattern = undefined;
    }
  }

  /**
   * A run begins: whatever value there is now, or comes while it lasts, is hidden until it is over,
   * because the run may have read any of them; `given` as well, which nobody else knows yet.
   */
  runBegins(given: readonly string[] = []): Disposable {
    const epoch = this.#now;
    epoch.running++;
    const isNews = given.some((value) => !this.#forms.has(value));
    if (given.length > 0) this.#given.add(given); // most runs are given nothing
    if (isNews) this.#pattern = undefined;
    return {
      [Symbol.dispose]: () => {
        epoch.running--;
        this.#given.delete(given);
        if (isNews) this.#pattern = undefined;
        this.#forget();
      },
    };
  }

  /** For one stream of output. */
  redactor(): Redactor {
    return new Redactor(() => this.#current());
  }

  /** A text with every known value hidden. */
  redact(text: string): string {
    if (text === "" || this.#current().isEmpty) return text;
    const redactor = this.redactor();
    return DECODER.decode(concatBytes(redactor.push(utf8(text)), redactor.flush()));
  }

  /** A value with every text in it redacted; keys of objects too. */
  redactAll<Value>(value: Value): Value {
    return this.#inside(value) as Value;
  }

  /** A refusal with every known value hidden in what a caller is told; its cause is for the log. */
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
      ...[...this.#given].flat(),
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

  /** What was retired before the oldest run in progress began is known to none. */
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
