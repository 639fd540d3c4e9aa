/**
 * Signatures in the body: changes in a genuine body, fields that occur twice, and requests that
 * come again.
 *
 * @module
 */

import { match, strictEqual as equal } from "node:assert/strict";
import {
  caseNamed,
  keysOf,
  optionsOf,
  requestOf,
  schemeNamed,
} from "../signatures/platform_cases.ts";
import { MANIFEST, triggerYaml, webhookRig } from "../rigs/webhook_rig.ts";

/** What a scheme says of a genuine body in which `from` is replaced. */
async function verdict(name: string, from: string | RegExp, to: string): Promise<string> {
  const one = caseNamed(name);
  const text = new TextDecoder().decode(one.body);
  const changed = text.replace(from, to);
  equal(changed === text, false, `${from} is not in the body`);
  const body = new TextEncoder().encode(changed);
  const found = await schemeNamed(one.scheme).verify(
    requestOf(one, { body }),
    keysOf(one.secret),
    optionsOf(one),
  );
  return found.ok ? "ok" : found.reason;
}

Deno.test("mailgun: what is changed in the body", async (t) => {
  const cases: [name: string, from: string | RegExp, to: string, reason: string][] = [
    ["mailgun event", '"opened"', '"failed"', "ok"],
    ["mailgun event", "e0b5", "e0b6", "no_key_matches"],
    ["mailgun event", "1770920772", "1770920773", "no_key_matches"],
    ["mailgun event", '"1770920772"', '"1.77e9"', "timestamp_malformed"],
    ["mailgun event", '"1770920772"', '""', "timestamp_missing"],
    ["mailgun event", /"token":"[^"]*"/, '"token":"short"', "message_id_missing"],

    ["mailgun event", /"signature":"[^"]*"/, '"signature":"aa"', "signature_malformed"],
    ["mailgun event", /"signature":"[^"]*"/, '"signature":7', "signature_malformed"],
    [
      "mailgun event",
      '{"signature":{',
      '{"signature":{},"signature":{',
      "signature_missing_in_body",
    ],
    ["mailgun event", '"token"', '"token":"x","\\u0074oken"', "signature_missing_in_body"],
    ["mailgun event", /^/, "[", "signature_missing_in_body"],
    ["mailgun route", "&token=", "&token=a&token=", "signature_missing_in_body"],
    ["mailgun route", "&signature=", "&signature=a&signature=", "signature_missing_in_body"],
    ["mailgun route", "Bob", "x".repeat(2 ** 20), "body_too_large"],
  ];
  for (const [name, from, to, reason] of cases) {
    await t.step(`${name}: ${from} → ${to.slice(0, 40)}`, async () => {
      equal(await verdict(name, from, to), reason);
    });
  }
});

const MAILGUN = MANIFEST +
  "---\nkind: SecretStore\nmetadata: {name: mailgun}\nspec: {data: {key: mailgun signing key}}\n" +
  triggerYaml("mail", { webhook: "secret: {fromRef: mailgun}, scheme: mailgun" });

Deno.test("mailgun: a token counts once, whatever event comes with it", async () => {
  const one = caseNamed("mailgun event");
  await using rig = await webhookRig({ manifest: MAILGUN });
  rig.clock.time = one.now * 1000;
  const send = async (body: BodyInit) =>
    await (await rig.post("/webhook/mail", body, one.headers)).json();
  equal((await send(one.body)).status, "accepted");
  equal((await send(one.body)).status, "duplicate");
  const other = new TextDecoder().decode(one.body).replace("opened", "failed");
  equal((await send(other)).status, "duplicate");
  rig.clock.time += 301_000;
  equal((await send(one.body)).status, 401);
  match((await rig.deliveries())[0]?.reason ?? "", /signed .* ago, toleranceSecs is/);
});
