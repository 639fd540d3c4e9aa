/**
 * Tables of requests and what a scheme says to each.
 *
 * @module
 */

import { strictEqual as equal } from "node:assert/strict";
import { defined } from "../../src/base/defined.ts";
import type { HmacOptions, Verdict } from "../../src/signatures/scheme.ts";
import { findScheme } from "../../src/platforms/schemes.ts";
import { caseNamed, keysOf, lowerCase } from "./platform_cases.ts";

/** A request to be verified under some scheme. */
export interface Attempt {
  readonly scheme: string;
  /** `signatureHeader` of the trigger, as it is written there. */
  readonly header: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly url?: string;
  /** Seconds. */
  readonly now?: number;
  readonly hmac?: HmacOptions;
}

/** `ok`, or why not. */
export async function outcome(attempt: Attempt): Promise<string> {
  const { scheme, header, secrets, body = "{}", url = "", now = 1531420618, hmac } = attempt;
  const headers = lowerCase(attempt.headers);
  const verdict: Verdict | undefined = await findScheme(scheme, header)?.verify(
    {
      body: typeof body === "string" ? new TextEncoder().encode(body) : body,
      header: (name) => headers[name],
      now: now * 1000,
      url,
      arrivedUrl: url,
    },
    keysOf(...secrets),
    {
      signatureHeader: header.toLowerCase(),
      toleranceSecs: 300,
      ...defined({ hmac }),
    },
  );
  if (verdict === undefined) return "no scheme";
  return verdict.ok ? "ok" : verdict.reason;
}

/** A table of attempts. */
export function table(name: string, rows: readonly (readonly [string, Attempt, string])[]): void {
  Deno.test(name, async (t) => {
    for (const [title, attempt, expected] of rows) {
      await t.step(title, async () => equal(await outcome(attempt), expected));
    }
  });
}

/** A case, as a trigger with `auto` would see it. */
export function fromCase(name: string): Attempt {
  const { header, headers, secret, body, url, now } = caseNamed(name);
  return { scheme: "auto", header, headers, secrets: [secret], body, url, now };
}
