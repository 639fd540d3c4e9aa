/**
 * CEL's results in JSON's terms.
 *
 * @module
 */

import {
  type CelInput,
  isCelList,
  isCelMap,
  isCelType,
  isCelUint,
  parse,
  plan,
} from "@bufbuild/cel";
import { toBase64 } from "../base/bytes.ts";
import { ENVIRONMENT } from "./environment.ts";

/** CEL's text of times and durations, which is their JSON form in protobuf. */
const asText = plan(ENVIRONMENT, parse("string(value)"));

/** CEL to JSON: bytes in base64, times and durations as text, integers as bigint. */
export function fromCel(value: unknown): unknown {
  if (value === null || typeof value !== "object") return value;
  if (isCelUint(value)) return value.value;
  if (isCelList(value)) return [...value].map(fromCel);
  if (isCelMap(value)) {
    return Object.fromEntries(
      [...value.entries()].map(([key, inner]) => [String(keyOf(key)), fromCel(inner)]),
    );
  }
  if (value instanceof Uint8Array) return toBase64(value);
  if (isCelType(value)) return value.name;
  const text = asText({ value: value as CelInput });
  return typeof text === "string" ? text : String(value);
}

function keyOf(key: unknown): unknown {
  return isCelUint(key) ? key.value : key;
}
