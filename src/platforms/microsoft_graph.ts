/**
 * Microsoft Graph signs nothing; the secret is the `clientState` of every notification in the body.
 * Several subscriptions share a request, so each notification has to show one. When a subscription
 * is made, a POST without a body brings `validationToken` and expects it back; nothing in it
 * authenticates the sender. The `validationTokens` of resource data are not checked. From "Receive
 * change notifications through webhooks" of Graph's documentation.
 *
 * @module
 */

import { findText, utf8 } from "../base/bytes.ts";
import { AppError } from "../base/errors.ts";
import { isJsonObject } from "../base/json.ts";
import {
  refused,
  type Signature,
  type SigningInput,
  type SigningKey,
  type Verdict,
} from "../signatures/scheme.ts";
import { findMatchingToken } from "../signatures/token.ts";
import { findVerifiedJson } from "../signatures/verified_json.ts";
import { echo, echoable, findObject, payloadId, type Platform } from "./platform.ts";

/** Always a key: a quote inside a text of JSON has a backslash before it. */
const CLIENT_STATE = /(?<!\\)"clientState"\s*:\s*"((?:[^"\\]|\\.){0,1024})"/g;

/**
 * Whether every notification shows a secret. The text is searched first: every `clientState` in it
 * has to be a secret, and the first that is not ends the search. So only the body of a sender who
 * has a secret is parsed. The parsed notifications are then checked in the same way, because a key
 * can be written with escapes.
 */
function verifyBody(body: Uint8Array, keys: readonly SigningKey[]): Verdict {
  const text = findText(body) ?? "";
  const shown = new Set<string>();
  let first: Verdict & { ok: true } | undefined;
  for (const [, literal = ""] of text.matchAll(CLIENT_STATE)) {
    if (shown.has(literal)) continue;
    const verdict = findSecret(unescaped(literal), keys);
    if (!verdict.ok) return verdict;
    shown.add(literal);
    first ??= verdict;
  }
  if (first === undefined) return findSecret(undefined, keys);
  const payload = findVerifiedJson(text, first);
  const list: unknown = isJsonObject(payload) ? payload["value"] : undefined;
  if (!Array.isArray(list) || list.length === 0) {
    return refused("signature_malformed", "the list value in the body");
  }
  const states = new Set(list.map((one) => findObject(one)?.["clientState"]));
  for (const state of states) {
    const verdict = findSecret(state, keys);
    if (!verdict.ok) return verdict;
  }
  return first;
}

function findSecret(state: unknown, keys: readonly SigningKey[]): Verdict {
  const verdict = findMatchingToken(utf8(typeof state === "string" ? state : ""), keys);
  if (typeof state === "string" || verdict.ok || verdict.reason === "no_usable_key") return verdict;
  return refused("secret_missing", "at least one of its notifications has no clientState");
}

/** The text between two quotes of JSON, read without a parser; other escapes stay as they are. */
function unescaped(text: string): string {
  return text.replace(
    /\\(?:u([0-9a-fA-F]{4})|(["\\/]))/g,
    (_escape, code, mark) => mark ?? String.fromCharCode(parseInt(code, 16)),
  );
}

const signature: Signature = {
  shows: "clientState",
  verify: ({ body }, keys) => verifyBody(body, keys),
  sign({ body }: SigningInput, key: SigningKey) {
    if (verifyBody(body, [key]).ok) return {};
    const message =
      `Graph signs nothing: write the value of the key "${key.name}" into the body, ` +
      "as clientState of every entry of value";
    return Promise.reject(new AppError("invalid", message));
  },
};

export const microsoftGraph: Platform = {
  name: "microsoft-graph",
  title: "Microsoft Graph",
  headers: [],
  signature,
  auto: false,
  unsignedHandshake: {
    method: "POST",
    answer: ({ body, query }) => {
      const token = body.length === 0 ? echoable(query("validationToken")) : undefined;
      return token === undefined ? undefined : echo(token);
    },
  },
  eventList: "value",
  eventId: (event) => payloadId(onlyNotification(event.payload)?.["id"], event),
  docs: {
    where: "none: `clientState` in the body",
    signs: "nothing; sends the secret itself in every notification",
    eventId: "`id` of each notification, if it has one, and the body",
  },
};

function onlyNotification({ value }: Readonly<Record<string, unknown>>) {
  return Array.isArray(value) && value.length === 1 ? findObject(value[0]) : undefined;
}
