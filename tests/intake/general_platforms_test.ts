/**
 * The manifests of `docs/platforms.md` for platforms without a scheme of their own, each through
 * the whole pipeline as it stands on the page: what it says is signed, and what names an event.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { AT, BODY, GENERAL_REQUESTS } from "../platforms/general_requests.ts";
import { answerOf } from "../helpers/senders.ts";
import { type Rig, webhookRig } from "../rigs/webhook_rig.ts";

const PAGE = await Deno.readTextFile(new URL("../../docs/platforms.md", import.meta.url));

/** One line of the table. */
interface Line {
  readonly platform: string;
  /** Fields of `webhook`, as a YAML flow mapping without its braces. */
  readonly webhook: string;
  readonly signs: readonly string[];
  readonly name: string;
}

const [TABLE = ""] = PAGE.slice(PAGE.indexOf("| platform | `webhook:` |")).split("\n\n");

const LINES: readonly Line[] = TABLE.split("\n").slice(2).map((line) => {
  const [, platform = "", webhook = "", signs = "", name = ""] = line.split(" | ").flatMap((
    cell,
    index,
  ) => index === 0 ? ["", cell.slice(2)] : [cell]);
  return { platform, webhook: webhook.replaceAll("`", ""), signs: signs.split(", "), name };
});

function rigOf({ webhook }: Line, secret: string): Promise<Rig> {
  const manifest = `
kind: Workflow
metadata: {name: ci}
spec: {steps: [{id: build, run: "true"}]}
---
kind: Workspace
metadata: {name: repo}
spec: {path: repo}
---
kind: SecretStore
metadata: {name: keys}
spec: {data: {current: ${JSON.stringify(secret)}}}
---
kind: Trigger
metadata: {name: hook}
spec:
  event: {source: webhook, webhook: {secret: {fromRef: keys}, ${webhook}}}
  action: {workflow: ci, workspace: repo}
`;
  return webhookRig({ manifest });
}

Deno.test("docs/platforms.md: every line has its request, and every request its line", () => {
  deepEqual(LINES.map(({ platform }) => platform), Object.keys(GENERAL_REQUESTS));
});

for (const line of LINES) {
  const request = GENERAL_REQUESTS[line.platform];
  if (request === undefined) continue;
  const sent = { "content-type": "application/json" };
  const headers = Object.assign({}, request.headers, sent);
  const { secret, otherSecret = "another secret", body = BODY, unsignedId } = request;
  const { signs, name } = line;

  Deno.test(`docs/platforms.md: ${line.platform}`, async () => {
    await using rig = await rigOf(line, secret);
    rig.clock.time = AT;
    const status = async (body: string, given: Record<string, string>) => {
      const answer = await rig.post("/webhook/hook", body, given);
      await answer.body?.cancel();
      return answer.status;
    };
    for (const header of Object.keys(request.headers)) {
      const { [header]: _, ...others } = headers as Record<string, string>;
      equal(await status(body, others), 401, `without ${header}`);
    }
    equal((await rig.tasks()).length, 0);
    const first = await answerOf(rig.post("/webhook/hook", body, headers));
    equal(first["status"], "accepted", JSON.stringify(first));
    const again = await answerOf(rig.post("/webhook/hook", body, headers));
    equal(again["status"], name === "none" ? "accepted" : "duplicate");
    if (unsignedId !== undefined) {
      const replayed = Object.assign({}, headers, { [unsignedId]: "another" });
      const answer = await answerOf(rig.post("/webhook/hook", body, replayed));
      equal(answer["status"], "duplicate", "replayed under another id");
    }
    equal(await status(body, sent), 401, "no signature");
    const longer = `${body} `;
    equal(await status(longer, headers), signs.includes("nothing") ? 200 : 401, "tampered");
    ok(signs.includes("body") || signs.includes("nothing"));
    rig.clock.time += 600_000;
    equal(await status(body, headers), signs.includes("time") ? 401 : 200, "old");
  });

  Deno.test(`docs/platforms.md: ${line.platform}, another key`, async () => {
    await using rig = await rigOf(line, otherSecret);
    rig.clock.time = AT;
    const answer = await rig.post("/webhook/hook", body, headers);
    equal(answer.status, 401);
    match((await rig.deliveries())[0]?.reason ?? "", /^the [a-zA-Z]+ fits no key of SecretStore "/);
  });
}
