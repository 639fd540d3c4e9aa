/**
 * Checks the references of a JSON Schema before any value is validated: each has to name a part of
 * the schema, and none may lead back to itself at the same value, which would never end. Pure.
 *
 * @module
 */

import { isJsonObject, type JsonObject } from "../base/json.ts";
import { errorAt, type FieldPath, type Finding } from "./resource.ts";

/** Keywords that hold values, not schemas. */
const VALUES = new Set(["const", "enum", "default", "examples"]);

/** Keywords whose schemas apply to the same value as the schema around them. */
const SAME_VALUE = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"];

/** A schema within the schema. */
interface Node {
  readonly schema: JsonObject;
  readonly path: FieldPath;
}

/** Checks the references of a schema at path `at`. */
export function checkReferences(root: JsonObject, at: FieldPath): Finding[] {
  const nodes = [...nodesOf(root, at)];
  const names = namesIn(nodes);
  const target = ({ $ref }: JsonObject): JsonObject | undefined =>
    typeof $ref === "string" ? find($ref, root, names) : undefined;

  const unknown = nodes.flatMap(({ schema, path }) =>
    typeof schema["$ref"] !== "string" || target(schema) !== undefined ? [] : [errorAt(
      [...path, "$ref"],
      "This refers to no part of the schema: a schema must contain everything it refers to",
    )]
  );
  if (unknown.length > 0) return unknown;
  const endless = endlessAmong(nodes, target);
  if (endless === undefined) return [];
  return [
    errorAt(
      [...endless.path, "$ref"],
      "This refers back to itself without going deeper into the value",
    ),
  ];
}

/**
 * Every object of a schema, the schema itself first. Not recursive, because schemas can be nested
 * deeply.
 */
function* nodesOf(root: JsonObject, at: FieldPath): Generator<Node> {
  const open: { value: unknown; path: FieldPath }[] = [{ value: root, path: at }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, path } = next;
    if (isJsonObject(value)) yield { schema: value, path };
    if (typeof value !== "object" || value === null) continue;
    for (const [key, inner] of Object.entries(value)) {
      if (VALUES.has(key) || typeof inner !== "object") continue;
      open.push({ value: inner, path: [...path, Array.isArray(value) ? Number(key) : key] });
    }
  }
}

/** Schemas by the names that a reference can use. */
function namesIn(nodes: readonly Node[]): ReadonlyMap<string, JsonObject> {
  const names = new Map<string, JsonObject>();
  for (const { schema } of nodes) {
    for (const key of ["$anchor", "$dynamicAnchor"]) {
      if (typeof schema[key] === "string") names.set(`#${schema[key]}`, schema);
    }
    const id = schema["$id"];
    if (typeof id === "string") names.set(id, schema).set(id.replace(/#$/, ""), schema);
  }
  return names;
}

function find(
  ref: string,
  root: JsonObject,
  names: ReadonlyMap<string, JsonObject>,
): JsonObject | undefined {
  if (ref === "#") return root;
  const schema = names.get(ref);
  if (schema !== undefined || !ref.startsWith("#/")) return schema;
  let at: unknown = root;
  for (const part of ref.slice(2).split("/")) {
    if (typeof at !== "object" || at === null) return undefined;
    const key = unescaped(part);
    at = Object.hasOwn(at, key) ? (at as Record<string, unknown>)[key] : undefined;
  }
  if (typeof at === "boolean") return {}; // `true` and `false` are schemas that refer to nothing
  return isJsonObject(at) ? at : undefined;
}

/** Decodes a part of a JSON Pointer in a URI. */
function unescaped(part: string): string {
  try {
    return decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return part;
  }
}

/** Finds a reference on a cycle of schemas that all apply to the same value. */
function endlessAmong(
  nodes: readonly Node[],
  target: (schema: JsonObject) => JsonObject | undefined,
): Node | undefined {
  const left = new Map(nodes.map(({ schema }) => [schema, 0]));
  const next = nodes.map(({ schema }) => [target(schema) ?? [], sameValue(schema)].flat(2));
  for (const schema of next.flat()) left.set(schema, (left.get(schema) ?? 0) + 1);
  const follow = new Map(nodes.map(({ schema }, index) => [schema, next[index] ?? []]));
  // Removes schemas that nothing refers to, until none is left: the others are on a cycle or after it.
  const open = [...left.keys()].filter((schema) => left.get(schema) === 0);
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    left.delete(one);
    for (const schema of follow.get(one) ?? []) {
      const count = (left.get(schema) ?? 0) - 1;
      left.set(schema, count);
      if (count === 0) open.push(schema);
    }
  }
  return nodes.find(({ schema }) => left.has(schema) && typeof schema["$ref"] === "string");
}

function sameValue(schema: JsonObject): JsonObject[] {
  return SAME_VALUE.flatMap((key) => {
    const inner = schema[key];
    if (Array.isArray(inner)) return inner.filter(isJsonObject);
    if (!isJsonObject(inner)) return [];
    return key === "dependentSchemas" ? Object.values(inner).filter(isJsonObject) : [inner];
  });
}
