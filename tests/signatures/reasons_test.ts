/**
 * The reasons of refusals for operators: facts first, whatever the scheme, and no secret.
 *
 * @module
 */

import { match, ok, strictEqual as equal } from "node:assert/strict";
import { whyRefused } from "../../src/signatures/failures.ts";
import type { Refusal, VerifyFailure } from "../../src/signatures/scheme.ts";
import { CASES, keysOf, optionsOf, requestOf, schemeNamed } from "./platform_cases.ts";

/** The reason of a refusal of one of the cases, which has to be refused. */
async function reasonOf(
  one: typeof CASES[number],
  { changes = {}, secrets = [one.secret], refusal = undefined as Refusal | undefined } = {},
): Promise<string> {
  const scheme = schemeNamed(one.scheme);
  const request = requestOf(one, changes);
  const options = optionsOf(one);
  const verdict = refusal ?? await scheme.verify(request, keysOf(...secrets), options);
  if (verdict.ok) throw new Error(`${one.name} passes`);
  return whyRefused(verdict, { scheme, options, request, store: "pay" });
}

const SIGNED =
  /^the signature fits no key of SecretStore "pay" \(another secret, or the body( or the URL)? was changed on its way\)$/;
const SHOWN =
  /^the (token|credential|secret|clientState|signature) fits no key of SecretStore "pay" \(another secret\)$/;

Deno.test("another secret: every scheme says the same, and names the SecretStore", async (t) => {
  for (const one of CASES.filter(({ certificate }) => certificate === undefined)) {
    await t.step(`${one.scheme}: ${one.name}`, async () => {
      const reason = await reasonOf(one, { secrets: [one.otherSecret] });
      ok(SIGNED.test(reason) || SHOWN.test(reason), reason);
      if (one.signs.url === true) match(reason, /the body or the URL/);
    });
  }
});

/** Whose signature or secret need not be in the header of the trigger. */
const ELSEWHERE = /^(graph|mailgun|sns|gitlab signing token|azure)/;

Deno.test("no signature: the reason names the header where it should be", async (t) => {
  for (const one of CASES.filter(({ name }) => !ELSEWHERE.test(name))) {
    await t.step(`${one.scheme}: ${one.name}`, async () => {
      const name = one.header.toLowerCase();
      const headers = Object.fromEntries(
        Object.entries(one.headers).filter(([given]) => given.toLowerCase() !== name),
      );
      const reason = await reasonOf(one, { changes: { headers } });
      match(
        reason,
        /^the request (has no header \S+, where the \w+ should be|shows no secret: .+)$/,
      );
      ok(reason.includes(name) || reason.startsWith("the request shows no"), reason);
    });
  }
});

Deno.test("every reason says what is there or is not, and none guesses first", async (t) => {
  const [one] = CASES;
  ok(one !== undefined);
  const reasons: Record<VerifyFailure, true> = {
    signature_header_missing: true,
    signature_missing_in_body: true,
    signature_malformed: true,
    body_not_signed: true,
    body_hash_differs: true,
    body_not_an_object: true,
    body_too_large: true,
    form_too_long: true,
    timestamp_missing: true,
    timestamp_malformed: true,
    timestamp_outside_window: true,
    token_expired: true,
    message_id_missing: true,
    signed_header_missing: true,
    signed_headers_unknown: true,
    secret_missing: true,
    options_unusable: true,
    topic_not_allowed: true,
    certificate_foreign: true,
    certificate_malformed: true,
    certificate_expired: true,
    certificate_missing: true,
    certificate_unreachable: true,
    certificate_differs: true,
    no_usable_key: true,
    no_key_matches: true,
  };
  for (const reason of Object.keys(reasons) as VerifyFailure[]) {
    await t.step(reason, async () => {
      const text = await reasonOf(one, { refusal: { ok: false, reason, detail: "X" } });
      match(text, /^[a-zA-Z].*[a-zA-Z0-9)"]$/);
      ok(!/probably|perhaps|may be|maybe/i.test(text), text);
    });
  }
});

const stripe = CASES.find(({ scheme }) => scheme === "stripe");

Deno.test("too old and too new: by how much, and how much is let pass", async () => {
  ok(stripe !== undefined);
  const at = (secs: number) => ({ changes: { now: stripe.now + secs } });
  equal(await reasonOf(stripe, at(900)), "says it was signed 15m ago, toleranceSecs is 300");
  equal(
    await reasonOf(stripe, at(-900)),
    "says it was signed 15m ahead of the daemon's clock, toleranceSecs is 300",
  );
});

Deno.test("a malformed signature: which header, and how it is written where it is right", async () => {
  ok(stripe !== undefined);
  const headers = { ...stripe.headers, "Stripe-Signature": "t=1,v1=short" };
  equal(
    await reasonOf(stripe, { changes: { headers } }),
    "the header stripe-signature does not have the form of scheme stripe: v1= and 64 hexadecimal digits",
  );
});

Deno.test("no usable key: what a key of the scheme is", async () => {
  const discord = CASES.find(({ scheme }) => scheme === "discord");
  ok(discord !== undefined);
  equal(
    await reasonOf(discord, { secrets: ["no public key"] }),
    'SecretStore "pay" has no key that scheme discord can use: it takes the application\'s public key, 64 hexadecimal digits',
  );
});
