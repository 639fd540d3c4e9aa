/**
 * The references of a JSON Schema, checked before any value is: each names a place in the schema,
 * and none leads back to itself before it has come any further into the value. Pure.
 *
 * @module
 */

import { isJsonObject, type JsonObject } from "../base/json.ts";
import { errorAt, type FieldPath, type Finding } from "./resource.ts";

/** Fields that hold values, not schemas. */
const VALUES = new Set(["const", "enum", "default", "examples"]);

/** Fields whose schemas look at the same value as the schema they stand in. */
const SAME_VALUE = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"];

/** A schema inside of a schema. */
interface Node {
  readonly schema: JsonObject;
  readonly path: FieldPath;
}

/** What is wrong with the references of a schema that stands at `at`. */
export function checkReferences(root: JsonObject, at: FieldPath): Finding[] {
  const nodes = [...nodesOf(root, at)];
  const names = namesIn(nodes);
  const target = ({ $ref }: JsonObject): JsonObject | undefined =>
    typeof $ref === "string" ? find($ref, root, names) : undefined;

  const unknown = nodes.flatMap(({ schema, path }) =>
    typeof schema["$ref"] !== "string" || target(schema) !== undefined ? [] : [errorAt(
      [...path, "$ref"],
      "This names no schema in here: a schema holds everything that it refers to",
    )]
  );
  if (unknown.length > 0) return unknown;
  const endless = endlessAmong(nodes, target);
  if (endless === undefined) return [];
  return [
    errorAt([...endless.path, "$ref"], "This leads back to itself and says nothing on the way"),
  ];
}

/** Every object of a schema, itself first. No recursion: it can be nested deeply. */
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

/** What schemas are called, as a reference names them. */
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
  const known = names.get(ref);
  if (known !== undefined || !ref.startsWith("#/")) return known;
  let at: unknown = root;
  for (const part of ref.slice(2).split("/")) {
    if (typeof at !== "object" || at === null) return undefined;
    const key = unescaped(part);
    at = Object.hasOwn(at, key) ? (at as Record<string, unknown>)[key] : undefined;
  }
  if (typeof at === "boolean") return {}; // `true` and `false` are schemas that refer to nothing
  return isJsonObject(at) ? at : undefined;
}

/** A part of a JSON Pointer in a URI. */
function unescaped(part: string): string {
  try {
    return decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return part;
  }
}

/** A reference on a circle of schemas that all look at the same value. */
function endlessAmong(
  nodes: readonly Node[],
  target: (schema: JsonObject) => JsonObject | undefined,
): Node | undefined {
  const left = new Map(nodes.map(({ schema }) => [schema, 0]));
  const next = nodes.map(({ schema }) => [target(schema) ?? [], sameValue(schema)].flat(2));
  for (const schema of next.flat()) left.set(schema, (left.get(schema) ?? 0) + 1);
  const follow = new Map(nodes.map(({ schema }, index) => [schema, next[index] ?? []]));
  // What nothing leads to is on no circle; what is left when all of it has gone is, or comes after.
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
