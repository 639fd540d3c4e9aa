/**
 * A request to a trigger as its sender would make it, for `svc trigger test` and `svc trigger
 * send`: with the trigger's own scheme, or as another platform sends, and with a key of its store.
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

/** What making a request needs. */
export interface MadeRequestHost {
  readonly catalog: Catalog;
  /** Which keys matched when. */
  readonly store: KeyUseStore;
}

/** What is to be sent. */
export interface WantedRequest {
  readonly body: Uint8Array<ArrayBuffer>;
  /** Address at which it arrives; the trigger's `publicUrl` is signed in its place. */
  readonly url: string;
  /** Milliseconds since the epoch that a signature carries. */
  readonly now: number;
  readonly id: string;
  /** Headers that the caller adds, or that replace those that would be made. */
  readonly headers: Readonly<Record<string, string>>;
  /** Type of the event, where a header names it. */
  readonly event?: string | undefined;
  /** Name of the platform that is to send; the trigger's own when absent. */
  readonly platform?: string | undefined;
  /** Name of the key to sign with; the likeliest when absent. */
  readonly key?: string | undefined;
}

/** A request to a trigger, and what it was signed with. */
export interface RequestToTrigger extends OutgoingRequest {
  /** Name of the key; `undefined` when it is not signed. */
  readonly key: string | undefined;
}

/**
 * Makes the request that a sender of this trigger would send. It is unsigned where the trigger asks
 * for no signature.
 *
 * @throws {AppError} `refused` when only the sender itself can sign so; `not_found` for the key;
 * `usage` for the platform or the event; `invalid` when there is nothing to sign with.
 */
export async function makeRequestTo(
  trigger: ActiveTrigger,
  { platform: wanted, key: keyName, event, headers: given, ...message }: WantedRequest,
  host: MadeRequestHost,
): Promise<RequestToTrigger> {
  const { webhook } = trigger;
  const sender = wanted === undefined ? ownSender(webhook) : senderNamed(wanted);
  const key = await keyFor(trigger, keyName, host);
  if (key === undefined && webhook.secret !== undefined) {
    const message = `SecretStore "${webhook.secret.fromRef}" does not exist or holds no key`;
    throw new AppError("invalid", `Cannot sign: ${message}`);
  }
  const contentType = headerNamed(given, "content-type");
  const known = publicUrl(webhook.publicUrl, message.url);
  const { url, headers } = await makeRequest(sender, {
    ...message,
    url: known,
    ...defined({ contentType, event }),
  }, key);
  const replaced = new Set(Object.keys(given).map((name) => name.toLowerCase()));
  const made = Object.entries(headers).filter(([name]) => !replaced.has(name.toLowerCase()));
  const added = url.slice(known.length); // what the platform adds stands at the end
  return {
    url: message.url + added,
    headers: Object.fromEntries([...made, ...Object.entries(given)]),
    key: key?.name,
  };
}

/**
 * The bytes of a body that came as base64.
 *
 * @throws {AppError} `invalid` when it is not base64.
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

/** A platform as a sender, with the header that it signs in by itself. */
function senderNamed(name: string): Sender {
  const platform = platformOf(name, undefined);
  if (platform === undefined) {
    const known = PLATFORMS.map(({ name }) => name).join(", ");
    throw new AppError("usage", `Unknown platform "${name}": use one of ${known}`);
  }
  return { ...schemeOf({ scheme: name }), platform };
}

/** The key to sign with; `undefined` where the trigger names no store, or an empty one. */
async function keyFor(
  trigger: ActiveTrigger,
  wanted: string | undefined,
  host: MadeRequestHost,
): Promise<SigningKey | undefined> {
  const store = findStore(trigger, host.catalog);
  const keys = store === undefined ? [] : signingKeys(store);
  if (wanted !== undefined) {
    const found = keys.find(({ name }) => name === wanted);
    if (found !== undefined) return found;
    const known = keys.length === 0 ? "" : `, only ${keys.map(({ name }) => name).join(", ")}`;
    throw new AppError("not_found", `The trigger's SecretStore has no key "${wanted}"${known}`);
  }
  if (store === undefined) return undefined;
  const uses = await host.store.listKeyUse(store.project, store.name);
  const lastOf = (key: string) =>
    uses.filter((use) => use.key === key).reduce((last, { lastAt }) => Math.max(last, lastAt), 0);
  const name = likeliestKey(keys.map((key) => ({ ...key, lastAt: lastOf(key.name) })))?.name;
  return keys.find((key) => key.name === name);
}

function headerNamed(headers: Readonly<Record<string, string>>, wanted: string) {
  return Object.entries(headers).find(([name]) => name.toLowerCase() === wanted)?.[1];
}
