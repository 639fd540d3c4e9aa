/** Which events of an App a trigger takes, and what an event about its installation does. */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { systemClock } from "../../src/base/clock.ts";
import { EventHub } from "../../src/base/event_hub.ts";
import { createLog } from "../../src/base/log.ts";
import { AppEvents } from "../../src/connections/app_events.ts";
import { ForgeTokens } from "../../src/connections/forge_tokens.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import type { Resource } from "../../src/resources/resource.ts";
import type { TriggerSpec } from "../../src/resources/trigger.ts";
import { KnownSecrets } from "../../src/secrets/known_secrets.ts";
import type { DaemonEvents } from "../../src/store/events.ts";
import { manifestResources } from "../rigs/webhook_rig.ts";

const app = { id: 12, slug: "svc", privateKey: { fromSecret: { store: "s", key: "k" } } };
const hooks = [{ endpoint: "github", id: 12 }];

/** Why an event starts nothing at a trigger that names this Connection. */
function whyOf(github: Record<string, unknown>, payload: unknown, connection = "acme") {
  const catalog = new Catalog(manifestResources([
    JSON.stringify({ kind: "Connection", metadata: { name: "acme" }, spec: { github } }),
    JSON.stringify({
      kind: "Trigger",
      metadata: { name: "push" },
      spec: {
        event: {
          source: "webhook",
          webhook: { endpoint: "github", allowUnsigned: true, ...connection && { connection } },
        },
        action: { workflow: "w", workspace: "default" },
      },
    }),
  ].join("\n---\n")));
  const log = createLog({ level: "error", format: "json", clock: systemClock, write() {} });
  const events = new EventHub<DaemonEvents>(log);
  const changed: string[] = [];
  using _heard = events.on("installationChanged", ({ name }) => void changed.push(name));
  const forgeTokens = new ForgeTokens({
    catalog,
    clock: systemClock,
    secrets: new KnownSecrets(),
  });
  const resource = catalog.find("Trigger", "default", "push") as Resource<TriggerSpec>;
  const why = new AppEvents({ catalog, events, forgeTokens })
    .whyUncovered({ trigger: { resource }, payload });
  return { why, changed };
}

const of = (full_name: string) => ({ repository: { full_name } });

Deno.test("a trigger takes events of what its Connection is to, and no others", async (t) => {
  const organization = { app, organization: "Acme" };
  const repositories = { app, repositories: ["acme/Site"] };
  const cases: readonly (readonly [string, Record<string, unknown>, unknown, boolean])[] = [
    ["of the organization", organization, of("acme/site"), true],
    ["of another account", organization, of("acme-evil/site"), false],
    ["of the organization itself", organization, { organization: { login: "acme" } }, true],
    ["of another organization", organization, { organization: { login: "evil" } }, false],
    ["of nobody", organization, { zen: "x" }, false],
    ["with a name that is none", organization, { repository: { full_name: 7 } }, false],
    ["of a listed repository", repositories, of("acme/site"), true],
    ["of one that is not listed", repositories, of("acme/other"), false],
    ["without a repository, for a list", repositories, { organization: { login: "acme" } }, false],
    ["of anything, for an app alone", { app }, of("any/thing"), true],
  ];
  for (const [name, github, payload, isTaken] of cases) {
    await t.step(name, () => {
      const { why } = whyOf(github, payload);
      equal(why === undefined, isTaken, why);
      if (why !== undefined) match(why, /Connection "acme" to .* does not cover/);
    });
  }
  await t.step(
    "a trigger that names no Connection takes all",
    () => equal(whyOf(organization, of("evil/site"), "").why, undefined),
  );
});

Deno.test("an event about an installation is heard at its own endpoint alone", () => {
  const installed = { action: "suspend", installation: { id: 1, account: { login: "acme" } } };
  deepEqual(whyOf({ app, hooks }, installed).changed, ["acme"]);
  deepEqual(whyOf({ app, hooks: [{ endpoint: "other", id: 12 }] }, installed).changed, []);
  deepEqual(whyOf({ app, hooks }, { ...of("acme/site"), installation: { id: 1 } }).changed, []);
});
