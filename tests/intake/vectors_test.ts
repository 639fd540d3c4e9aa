/**
 * Every published signature through the whole pipeline, in process: the clock and the URL are those
 * of the vector. A right signature over a body that is no JSON object is 400, never 401.
 *
 * @module
 */

import { strictEqual as equal } from "node:assert/strict";
import { defined } from "../../src/base/defined.ts";
import { NOT_SLOW } from "../helpers/program.ts";
import { skippable } from "../helpers/requirements.ts";
import { CASES } from "../signatures/platform_cases.ts";
import { webhookRig } from "../rigs/webhook_rig.ts";

/** A manifest is YAML, which takes JSON. */
function manifest(one: typeof CASES[number]): string {
  const webhook = {
    secret: { fromRef: "keys" },
    ...(one.header === "" ? {} : { signatureHeader: one.header }),
    scheme: one.scheme,
    ...defined({ hmac: one.hmac }),
    ...(one.url === "" ? {} : { publicUrl: one.url }),
  };
  const named = (kind: string, name: string, spec: unknown) =>
    JSON.stringify({ kind, metadata: { name }, spec });
  return [
    named("Workflow", "ci", { steps: [{ id: "build", run: "true" }] }),
    named("Workspace", "repo", { path: "repo" }),
    named("SecretStore", "keys", { data: { old: one.otherSecret, current: one.secret } }),
    named("Trigger", "hook", {
      event: { source: "webhook", webhook },
      action: { workflow: "ci", workspace: "repo" },
    }),
  ].join("\n---\n");
}

function certificateOf({ certificate }: typeof CASES[number]) {
  return certificate === undefined ? {} : { certificate };
}

/** 200 where the body is a JSON object or a form, 400 where it is neither. */
function expected({ body, headers }: typeof CASES[number]): number {
  const type = Object.entries(headers).find(([name]) => name.toLowerCase() === "content-type")?.[1];
  const text = new TextDecoder().decode(body);
  return type?.startsWith("application/x-www-form-urlencoded") || text.startsWith("{") ? 200 : 400;
}

for (const one of CASES) {
  Deno.test(`POST /webhook/{trigger} verifies ${one.name} (${one.scheme})`, async () => {
    await using rig = await webhookRig({ manifest: manifest(one), ...certificateOf(one) });
    rig.clock.time = one.now * 1000;
    const answer = await rig.post("/webhook/hook", one.body, one.headers);
    equal(answer.status, expected(one), await answer.text());
    equal((await rig.deliveries())[0]?.secretKey, "current");
  });

  const name = `POST /webhook/{trigger} refuses ${one.name} without its secret (${one.scheme})`;
  Deno.test({
    ...skippable(name, NOT_SLOW), // tests/signatures refuse each of them, without the pipeline
    async fn() {
      const other = { ...one, secret: one.otherSecret, otherSecret: `${one.otherSecret}0` };
      await using rig = await webhookRig({ manifest: manifest(other), ...certificateOf(one) });
      rig.clock.time = one.now * 1000;
      const answer = await rig.post("/webhook/hook", one.body, one.headers);
      equal(answer.status, 401);
      equal((await rig.tasks()).length, 0);
    },
  });
}
