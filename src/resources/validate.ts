/**
 * The validator: takes a JSON Schema, gives findings in plain words. The only importer of TypeBox's
 * schema compiler and settings. `manifest.ts` adds files and lines.
 *
 * @module
 */

import * as Schema from "typebox/schema";
import type { TLocalizedValidationError } from "typebox/error";
import { Settings } from "typebox/system";
import { defined } from "../base/defined.ts";
import { findLike } from "../base/similar_names.ts";
import { capitalized } from "../base/sentence.ts";
import { hintAt } from "./foreign_fields.ts";
import { errorAt, type FieldPath, type Finding } from "./resource.ts";

// By default, TypeBox stops at eight errors and omits those that name the unknown fields.
Settings.Set({ maxErrors: 10_000 });

/** Limits of the values that a message shows. */
export interface CheckOptions {
  /** Whether messages show refused plain words; `false` for fields that may hold a secret. */
  readonly showWords?: boolean;
}

/** A compiled schema, which checks any number of values. */
export interface Validator {
  /** Findings about `value`, which is at path `at` of the document; empty when it is valid. */
  check(value: unknown, at?: FieldPath, options?: CheckOptions): Finding[];
}

/** Compiles a JSON Schema (draft 2020-12 and earlier). */
export function compileSchema(schema: object): Validator {
  const compiled = Schema.Compile(schema as Schema.XSchema);
  return {
    check(value, at = [], { showWords = false } = {}) {
      try {
        if (compiled.Check(value)) return [];
        const refusal = { schema, value, errors: compiled.Errors(value)[1], showWords };
        const findings = toFindings(refusal, at);
        return findings.length > 0 ? findings : [errorAt(at, "Does not fit its schema")];
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        return [errorAt(at, "Nested too deeply, or its schema refers to itself without end")];
      }
    },
  };
}

interface Refusal {
  readonly schema: object;
  readonly value: unknown;
  readonly errors: readonly TLocalizedValidationError[];
  readonly showWords: boolean;
}

function toFindings({ schema, value, errors, showWords }: Refusal, at: FieldPath): Finding[] {
  const unions = errors.filter((error) => error.keyword === "anyOf").map((e) => e.schemaPath);
  const findings = new Map<string, Finding>();
  const add = (path: FieldPath, message: string, missing?: string) => {
    const key = `${path.join("\n")}\n\n${message}`;
    if (findings.has(key)) return;
    const { path: where, level } = errorAt([...at, ...path], message);
    findings.set(key, { path: where, message, level, ...defined({ missing }) });
  };
  for (const error of errors) {
    if (error.keyword === "boolean") continue; // "schema is false": the parent names the field
    if (unions.some((union) => error.schemaPath.startsWith(`${union}/anyOf/`))) continue;
    const path = pointerPath(error.instancePath);
    if (error.keyword === "additionalProperties") {
      const known = knownFields(schema, error.schemaPath);
      for (const name of error.params.additionalProperties) {
        add([...path, name], unknownField(name, known));
      }
    } else if (error.keyword === "required") {
      for (const name of error.params.requiredProperties) {
        add(path, `Missing field "${name}"`, name);
      }
    } else {
      const node = nodeAt(schema, error.schemaPath);
      const refused = valueAt(value, path);
      add(path, describe(error, { node, value: refused, found: name(refused, node, showWords) }));
    }
  }
  return [...findings.values()];
}

function describe(
  error: TLocalizedValidationError,
  { node, value, found }: { node: unknown; value: unknown; found: string },
): string {
  const title = field(node, "title");
  if (typeof title === "string") {
    if (error.keyword === "uniqueItems") return `Expected ${title}, found something in it twice`;
    return `Expected ${title}, found ${COUNTS.has(error.keyword) ? counted(value) : found}`;
  }
  switch (error.keyword) {
    case "type":
      return `Expected ${[error.params.type].flat().map(withArticle).join(" or ")}, found ${found}`;
    case "enum": {
      const allowed = error.params.allowedValues.map(String);
      const near = typeof value === "string" && value.length > 2
        ? findLike(value, allowed)
        : undefined;
      const hint = near === undefined ? "" : `, did you mean "${near}"?`;
      return `Expected one of ${allowed.join(", ")}, found ${found}${hint}`;
    }
    case "const":
      return `Expected ${JSON.stringify(error.params.allowedValue)}, found ${found}`;
    case "minimum":
    case "maximum":
      return `${capitalized(error.message)}, found ${found}`;
    default:
      return capitalized(error.message);
  }
}

/** What is wrong is how many parts a value has. */
const COUNTS: ReadonlySet<string> = new Set([
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
]);

function counted(value: unknown): string {
  const what = Array.isArray(value) ? "list" : "mapping";
  const count = Object.keys(value ?? {}).length;
  return count === 0 ? `an empty ${what}` : `a ${what} of ${count}`;
}

/** A text that a message shows: it can hardly be a secret, and says more than its length. */
const PLAIN_WORD = /^[A-Za-z0-9-]{1,20}$/;

/**
 * A value in a message: a number, a boolean or a plain word itself, the length of a longer text, or
 * else the type. Other texts are not shown, because each may be a secret in the wrong place.
 */
function name(value: unknown, node: unknown, showWords: boolean): string {
  if (value === null || value === undefined) return "nothing";
  if (value === "") return "an empty text";
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  if (field(node, "writeOnly") === true || typeof value === "object") {
    return withArticle(typeof value);
  }
  if (typeof value !== "string") return `the ${typeof value} ${value}`;
  return showWords && PLAIN_WORD.test(value) ? `"${value}"` : `a text of ${length(value)}`;
}

function length(text: string): string {
  return text.length === 1 ? "1 character" : `${text.length} characters`;
}

/** A JSON Schema type in the words of YAML. */
function withArticle(type: string): string {
  if (type === "object") return "a mapping";
  if (type === "array") return "a list";
  if (type === "null") return "nothing";
  if (type === "string") return "a text";
  return type === "integer" ? "an integer" : `a ${type}`;
}

function unknownField(name: string, known: readonly string[]): string {
  const hint = hintAt(name, known);
  if (hint !== undefined) return `Unknown field "${name}", ${hint}`;
  const near = findLike(name, known);
  if (near !== undefined) return `Unknown field "${name}", did you mean "${near}"?`;
  return `Unknown field "${name}", known here: ${known.join(", ") || "none"}`;
}

function knownFields(schema: object, schemaPath: string): string[] {
  const properties = field(nodeAt(schema, schemaPath), "properties");
  return typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
}

function nodeAt(schema: object, schemaPath: string): unknown {
  return valueAt(schema, pointerPath(schemaPath.replace(/^#/, "")));
}

function valueAt(value: unknown, path: FieldPath): unknown {
  return path.reduce<unknown>((inner, key) => field(inner, key), value);
}

function field(value: unknown, key: string | number): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as Record<string | number, unknown>)[key];
}

/** A JSON Pointer as keys; positions in lists stay text, which addresses the same place. */
function pointerPath(pointer: string): string[] {
  if (pointer === "") return [];
  return pointer.slice(1).split("/").map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
}
