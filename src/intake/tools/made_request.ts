/**
 * Makes a request to a trigger like its sender, for `svc trigger test` and `svc trigger send`: with the
 * trigger's own scheme or as another platform, and with a key of its store.
 *
 * @module
 */

import { findBase64 } from "../../base/bytes.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { platformOf, PLATFORMS } from "../../platforms/platforms.ts";
import {
  likeliestKey,
  makeRequest,
  type OutgoingRequest,
  type Sender,
} from "../../platforms/sender.ts";
import type { Catalog } from "../../resources/catalog.ts";
import type { WebhookSpec } from "../../resources/event_webhook.ts";
import type { SigningKey } from "../../signatures/scheme.ts";
import type { KeyUseStore } from "../../store/delivery_store.ts";
import { schemeOf } from "../pipeline/signing.ts";
import type { ActiveTrigger } from "../admission/triggers.ts";
import { findStore, signingKeys } from "../pipeline/signing_keys.ts";
import { publicUrl } from "../pipeline/signed_request.ts";

/** The keys of triggers. */
export interface MadeRequestHost {
  readonly catalog: Catalog;
  /** Knows which keys matched when. */
  readonly store: KeyUseStore;
}

/** The settings of a request. */
export interface RequestSettings {
  readonly body: Uint8Array<ArrayBuffer>;
  /** Address to which it is sent; the signature covers the trigger's `publicUrl` instead. */
  readonly url: string;
  /** Milliseconds since the epoch that a signature carries. */
  readonly now: number;
  readonly id: string;
  /** Headers that are added, or replace those of the sender. */
  readonly headers: Readonly<Record<string, string>>;
  /** Type of the event, for a platform whose header names it. */
  readonly event?: string | undefined;
  /** Name of the platform as which it is sent; the trigger's own if absent. */
  readonly platform?: string | undefined;
  /** Name of the key for the signature; the likeliest if absent. */
  readonly key?: string | undefined;
}

/** A request to a trigger, and the key of its signature. */
export interface RequestToTrigger extends OutgoingRequest {
  /** Name of the key; `undefined` if it is not signed. */
  readonly key: string | undefined;
}

/**
 * Makes the request that a sender of a trigger would send, unsigned if the trigger needs no signature.
 *
 * @throws {AppError} `refused` if only the sender itself can make such a signature; `not_found` for
 * the key; `usage` for the platform or the event; `invalid` if there is no key.
 */
export async function makeRequestTo(
  trigger: ActiveTrigger,
  { platform, key: keyName, event, headers: added, ...message }: RequestSettings,
  host: MadeRequestHost,
): Promise<RequestToTrigger> {
  const { webhook } = trigger;
  const sender = platform === undefined ? ownSender(webhook) : senderNamed(platform);
  const key = await keyFor(trigger, keyName, host);
  if (key === undefined && webhook.secret !== undefined) {
    const message = `SecretStore "${webhook.secret.fromRef}" does not exist or holds no key`;
    throw new AppError("invalid", `Cannot sign: ${message}`);
  }
  const contentType = headerNamed(added, "content-type");
  const known = publicUrl(webhook.publicUrl, message.url);
  const { url, headers } = await makeRequest(sender, {
    ...message,
    url: known,
    ...defined({ contentType, event }),
  }, key);
  const replaced = new Set(Object.keys(added).map((name) => name.toLowerCase()));
  const kept = Object.entries(headers).filter(([name]) => !replaced.has(name.toLowerCase()));
  const suffix = url.slice(known.length); // a platform adds to the end of the URL only
  return {
    url: message.url + suffix,
    headers: Object.fromEntries([...kept, ...Object.entries(added)]),
    key: key?.name,
  };
}

/**
 * The bytes of a body in base64.
 *
 * @throws {AppError} `invalid` if it is not base64.
 */
export function bodyOf(text: string | undefined): Uint8Array<ArrayBuffer> {
  const body = findBase64(text ?? "");
  if (body === undefined) throw new AppError("invalid", "The body is not base64");
  return body;
}

/** The sender that the trigger expects. */
function ownSender(webhook: WebhookSpec): Sender {
  return { ...schemeOf(webhook), platform: platformOf(webhook.scheme, webhook.signatureHeader) };
}

/** A platform as a sender, with its own header for the signature. */
function senderNamed(name: string): Sender {
  const platform = platformOf(name, undefined);
  if (platform === undefined) {
    const known = PLATFORMS.map(({ name }) => name).join(", ");
    throw new AppError("usage", `Unknown platform "${name}": use one of ${known}`);
  }
  return { ...schemeOf({ scheme: name }), platform };
}

/** The key for the signature; `undefined` if the trigger names no store, or an empty one. */
async function keyFor(
  trigger: ActiveTrigger,
  keyName: string | undefined,
  host: MadeRequestHost,
): Promise<SigningKey | undefined> {
  const store = findStore(trigger, host.catalog);
  const keys = store === undefined ? [] : signingKeys(store);
  if (keyName !== undefined) {
    const named = keys.find(({ name }) => name === keyName);
    if (named !== undefined) return named;
    const known = keys.length === 0 ? "" : `, only ${keys.map(({ name }) => name).join(", ")}`;
    throw new AppError("not_found", `The trigger's SecretStore has no key "${keyName}"${known}`);
  }
  if (store === undefined) return undefined;
  const uses = await host.store.listKeyUse(store.project, store.name);
  const lastOf = (key: string) =>
    uses.filter((use) => use.key === key).reduce((last, { lastAt }) => Math.max(last, lastAt), 0);
  const name = likeliestKey(keys.map((key) => ({ ...key, lastAt: lastOf(key.name) })))?.name;
  return keys.find((key) => key.name === name);
}

function headerNamed(headers: Readonly<Record<string, string>>, lowerName: string) {
  return Object.entries(headers).find(([name]) => name.toLowerCase() === lowerName)?.[1];
}
