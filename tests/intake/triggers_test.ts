/**
 * Triggers as the sources find them: one that is not there, and one that is there and cannot be
 * used.
 *
 * @module
 */

import { strictEqual as equal, throws } from "node:assert/strict";
import { AppError } from "../../src/base/errors.ts";
import { Triggers } from "../../src/intake/admission/triggers.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import type { TriggerSpec } from "../../src/resources/trigger.ts";
import { slackHeaders, slackMessage } from "../helpers/slack.ts";
import { NOW } from "../rigs/intake_state.ts";
import { MANIFEST, manifestResources, triggerYaml, webhookRig } from "../rigs/webhook_rig.ts";

const project = "default";

/** The resources of a manifest, the filter of the trigger `broken` being no CEL any more. */
function withBrokenFilter() {
  const manifest = MANIFEST + triggerYaml("broken", { condition: "true" });
  return manifestResources(manifest).map((resource) => {
    if (resource.name !== "broken") return resource;
    const spec = resource.spec as TriggerSpec;
    return {
      ...resource,
      spec: { ...spec, event: { ...spec.event, filter: { condition: "payload ==" } } },
    };
  });
}

Deno.test("Triggers.find tells what is not there from what cannot be used", () => {
  const triggers = new Triggers(new Catalog(withBrokenFilter()));
  equal(triggers.find({ project, trigger: "push" })?.resource.name, "push");
  equal(triggers.find({ project, trigger: "push", source: "webhook" })?.resource.name, "push");
  equal(triggers.find({ project, trigger: "push", source: "cron" }), undefined);
  equal(triggers.find({ project, trigger: "nobody" }), undefined);
  const isCode = (code: string) => (error: unknown) =>
    error instanceof AppError && error.code === code;
  throws(() => triggers.named({ project, trigger: "nobody" }), isCode("not_found"));
  throws(() => triggers.find({ project, trigger: "broken" }), isCode("invalid"));
});

Deno.test("a Slack trigger whose filter does not compile is not told as one that is not there", async () => {
  await using rig = await webhookRig({ manifest: MANIFEST });
  for (const resource of withBrokenFilter()) {
    if (resource.name === "broken") rig.catalog.change([{ op: "put", resource }]);
  }
  const body = slackMessage({ text: "hello", ts: "1700000000.000100" });
  const headers = slackHeaders(body, { time: String(Math.floor(NOW / 1000)) });
  const send = async (name: string) =>
    (await rig.post(`/source/slack/default/${name}`, body, headers)).status;
  equal(await send("nobody"), 401);
  equal(await send("broken"), 400);
});
