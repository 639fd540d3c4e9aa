/**
 * What the test of a package needs to know of it, and requests as the platforms send them. Signs
 * with Node's HMAC, never with the code under test.
 *
 * @module
 */

import { createHmac } from "node:crypto";
import { join } from "node:path";
import type { Manifest } from "../helpers/manifests.ts";
import { ROOT } from "../helpers/program.ts";

/** A package under test. */
export interface PackageCase {
  /** Name of its directory. */
  readonly name: string;
  /** Secrets to install it with, by key. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Where its agents start only for some: the platform, as it says who those are. */
  readonly platform?: () => CasePlatform | Promise<CasePlatform>;
  /** In the order they are sent; every trigger of the package is in one that starts a task. */
  readonly requests: readonly PackageRequest[];
}

/** A platform that says who may start agents. */
export interface CasePlatform extends AsyncDisposable {
  /** The Connection to it, and its token. */
  readonly manifests: readonly Manifest[];
}

/** One request and what has to come of it. */
export interface PackageRequest {
  /** What it is. */
  readonly title: string;
  /** Trigger it is sent to. */
  readonly trigger: string;
  /** The exact body. */
  readonly body: Uint8Array;
  /** Every header, those with the signature of a body among them. */
  readonly headers: (body: Uint8Array) => Record<string, string>;
  /** `status` of the answer; of a handshake, its whole text. */
  readonly answer: "accepted" | "filtered" | "duplicate" | { readonly handshake: string };
  /** The tasks it starts, in order; none when absent. */
  readonly tasks?: readonly ExpectedTask[];
}

/** One task that a request starts. */
export interface ExpectedTask {
  /** Payload file of its steps, to the byte. */
  readonly payload: string;
  /** Its log. */
  readonly log: string;
  /** What the prompt of its agent has to hold, once that is switched on. */
  readonly prompt: readonly string[];
}

/** Bytes of a fixture. */
export function fixture(path: string): Uint8Array {
  return Deno.readFileSync(join(ROOT, "tests/fixtures", path));
}

/** Bytes as text. */
export function textOf(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
}

/** Text as bytes. */
export function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** `X-Slack-Signature` of a body at a time, in seconds. */
export function signSlack(secret: string, body: Uint8Array, timestamp: string): string {
  const hmac = createHmac("sha256", secret).update(`v0:${timestamp}:`).update(body);
  return `v0=${hmac.digest("hex")}`;
}

/** `X-Line-Signature` of a body. */
export function signLine(secret: string, body: Uint8Array): string {
  return createHmac("sha256", secret).update(body).digest("base64");
}
