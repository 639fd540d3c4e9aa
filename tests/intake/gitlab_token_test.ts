/**
 * The secret token of GitLab goes with every request as it is: whoever has seen it can send requests, but
 * sign none. The trigger takes an event only if its payload is signed.
 */

import { strictEqual as equal } from "node:assert/strict";
import { createHmac } from "node:crypto";
import { gitlabHeaders, SIGNING_TOKEN } from "../helpers/gitlab.ts";
import { NOW } from "../rigs/intake_state.ts";
import { MANIFEST, webhookRig } from "../rigs/webhook_rig.ts";

const BODY = JSON.stringify({ object_kind: "push", project: { path_with_namespace: "a/b" } });

async function outcome(secret: string, headers: Record<string, string>) {
  const trigger = "signatureHeader: X-Gitlab-Token}, " +
    "filter: {condition: 'has(signed.payload.object_kind)'}}";
  const manifest = MANIFEST.replace("signatureHeader: X-Hub-Signature-256}}", trigger)
    .replace(/current: "[^"]+"/, `current: "${secret}"`);
  await using rig = await webhookRig({ manifest });
  await rig.post("/webhook/push", BODY, { "content-type": "application/json", ...headers });
  const [delivery] = await rig.deliveries();
  return delivery?.outcome;
}

/** Tokens that are base64 as well, as random ones mostly are. */
const PLAIN = ["5f".repeat(32), "c29tZWJvZHkgaGFzIHNlZW4gdGhpcyB0b2tlbiBvZg=="];

for (const token of PLAIN) {
  Deno.test(`with the plain token ${token.slice(0, 4)}… nothing can be signed`, async () => {
    const plain = { "x-gitlab-token": token };
    equal(await outcome(token, plain), "filtered");
    const signed = gitlabHeaders(token, BODY, "Push Hook", NOW);
    equal(await outcome(token, signed), "rejected");
    equal(await outcome(token, { ...plain, ...signed }), "rejected");
    const hex = createHmac("sha256", token).update(BODY).digest("hex");
    equal(await outcome(token, { "x-gitlab-token": `sha256=${hex}` }), "filtered");
  });
}

Deno.test("only a signing token signs, and what stands beside it does not count", async () => {
  const signed = gitlabHeaders(SIGNING_TOKEN, BODY, "Push Hook", NOW);
  equal(await outcome(SIGNING_TOKEN, signed), "accepted");
  equal(await outcome(SIGNING_TOKEN, { ...signed, "x-gitlab-token": "another" }), "accepted");
  equal(await outcome(SIGNING_TOKEN, { "x-gitlab-token": "another" }), "rejected");
  const unsigned = { "webhook-signature": "", "x-gitlab-token": SIGNING_TOKEN };
  equal(await outcome(SIGNING_TOKEN, unsigned), "rejected");
});
