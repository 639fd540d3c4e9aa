/**
 * The one validator: takes a JSON Schema, gives findings in plain words. The only importer of
 * TypeBox's schema compiler and settings. Files and lines are added by `manifest.ts`.
 *
 * @module
 */

import * as Schema from "typebox/schema";
import type { TLocalizedValidationError } from "typebox/error";
import { Settings } from "typebox/system";
import { findLike } from "../base/similar_names.ts";
import { errorAt, type FieldPath, type Finding } from "./resource.ts";

// By default, TypeBox stops at eight errors and omits those that name the unknown fields.
Settings.Set({ maxErrors: 10_000 });

/** A compiled schema. */
export interface Validator {
  /** Findings about `value`, which is at path `at` of the document; empty when it is valid. */
  check(value: unknown, at?: FieldPath): Finding[];
}

/** Compiles a JSON Schema (draft 2020-12 and earlier). */
export function compileSchema(schema: object): Validator {
  const compiled = Schema.Compile(schema as Schema.XSchema);
  return {
    check(value, at = []) {
      try {
        if (compiled.Check(value)) return [];
        const findings = toFindings(schema, value, compiled.Errors(value)[1], at);
        return findings.length > 0 ? findings : [errorAt(at, "Does not fit its schema")];
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        return [errorAt(at, "Nested too deeply, or its schema refers to itself without end")];
      }
    },
  };
}

function toFindings(
  schema: object,
  value: unknown,
  errors: readonly TLocalizedValidationError[],
  at: FieldPath,
): Finding[] {
  const unions = errors.filter((error) => error.keyword === "anyOf").map((e) => e.schemaPath);
  const findings = new Map<string, Finding>();
  const add = (path: FieldPath, message: string) => {
    const key = `${path.join("\n")}\n\n${message}`;
    if (!findings.has(key)) findings.set(key, errorAt([...at, ...path], message));
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
      for (const name of error.params.requiredProperties) add(path, `Missing field "${name}"`);
    } else {
      add(path, describe(error, nodeAt(schema, error.schemaPath), valueAt(value, path)));
    }
  }
  return [...findings.values()];
}

function describe(error: TLocalizedValidationError, node: unknown, value: unknown): string {
  const title = field(node, "title");
  const found = field(node, "writeOnly") === true
    ? typeName(value)
    : nameOf(value, error.keyword !== "type");
  if (typeof title === "string") return `Expected ${title}, found ${found}`;
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
    default:
      return error.message.charAt(0).toUpperCase() + error.message.slice(1);
  }
}

/**
 * Describes a value in a message: a number or boolean itself, else its type. The text of a string
 * is never shown: it may be a secret in the wrong place. `isOfType` means that a string was
 * expected, but not this one.
 */
function nameOf(value: unknown, isOfType: boolean): string {
  if (typeof value === "number" || typeof value === "boolean") {
    return `the ${typeof value} ${value}`;
  }
  return isOfType && typeof value === "string" && value !== ""
    ? "a different string"
    : typeName(value);
}

/** The type of a value, for fields that a schema marks `writeOnly`: a password can be a number. */
function typeName(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  if (value === "") return "an empty string";
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  return withArticle(typeof value);
}

/** A JSON Schema type in the words of YAML. */
function withArticle(type: string): string {
  if (type === "object") return "a mapping";
  if (type === "array") return "a list";
  if (type === "null") return "nothing";
  return type === "integer" ? "an integer" : `a ${type}`;
}

function unknownField(name: string, known: readonly string[]): string {
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
