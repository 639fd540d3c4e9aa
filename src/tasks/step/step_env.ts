/**
 * The environment of a step. It has only the variables that are named here or in a manifest, and text
 * from outside is never more than the value of a variable.
 *
 * @module
 */

import { utf8 } from "../../base/bytes.ts";
import { AppError } from "../../base/errors.ts";
import type { Evaluator } from "../../cel/evaluator.ts";
import type { Scope } from "../../cel/expression.ts";
import { compileTemplate, renderTemplate } from "../../cel/template.ts";
import type { Catalog } from "../../resources/catalog.ts";
import type { Env } from "../../resources/env.ts";
import type { SecretStoreSpec } from "../../resources/secret_store.ts";

/** Most bytes of a variable or an argument: the kernel's limit (128 KiB), less room for a name. */
export const MAX_VARIABLE_BYTES = 130_000;

const NUL = "\0";

/** The sources of the values in `env` blocks. */
export interface EnvSources {
  readonly evaluator: Evaluator;
  readonly catalog: Catalog;
  /** Project whose secrets may be used. */
  readonly project: string;
}

/**
 * Fills in `env` blocks; later blocks win.
 *
 * @throws {AppError} `invalid` when a template has no value or a secret does not exist.
 */
export async function fillEnv(
  blocks: readonly Env[],
  scope: Scope,
  sources: EnvSources,
): Promise<Record<string, string>> {
  const variables: Record<string, string> = {};
  for (const [name, value] of blocks.flatMap((block) => Object.entries(block))) {
    if (typeof value === "string") {
      const text = (await renderTemplate(compileTemplate(value), scope, sources.evaluator))
        .toWellFormed(); // half a surrogate pair cannot be written as UTF-8
      if (text.includes(NUL)) throw new AppError("invalid", `The value of ${name} holds a NUL`);
      if (utf8(text).length > MAX_VARIABLE_BYTES) {
        throw new AppError(
          "invalid",
          `The value of ${name} is too long for a variable: read it from $SVC_PAYLOAD_FILE instead`,
        );
      }
      variables[name] = text;
    } else {
      variables[name] = readSecret(value.fromSecret, sources);
    }
  }
  return variables;
}

/** Whether a variable can hold a text. */
export function fitsVariable(text: string): boolean {
  return !text.includes(NUL) && utf8(text).length <= MAX_VARIABLE_BYTES;
}

/**
 * The value of a secret.
 *
 * @throws {AppError} `invalid` when there is none.
 */
export function readSecret(
  from: { readonly store: string; readonly key: string },
  sources: Pick<EnvSources, "catalog" | "project">,
): string {
  const store = sources.catalog.find<SecretStoreSpec>("SecretStore", sources.project, from.store);
  if (store === undefined) {
    throw new AppError("invalid", `SecretStore "${from.store}" does not exist, apply it`);
  }
  if (!Object.hasOwn(store.spec.data, from.key)) {
    throw new AppError("invalid", `SecretStore "${from.store}" has no key "${from.key}"`);
  }
  return store.spec.data[from.key] ?? "";
}
