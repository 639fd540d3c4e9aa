/**
 * What `svc describe` says of a trigger whose events cannot arrive.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match } from "node:assert/strict";
import { HealthConditions } from "../../src/base/health_conditions.ts";
import { sourceStatus } from "../../src/control/resources/source_view.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import { tempStore } from "../helpers/temp_store.ts";
import { until } from "../helpers/until.ts";
import { manifestResources } from "../rigs/webhook_rig.ts";
import { controlTest } from "../rigs/control_rig.ts";
import { NOT_SLOW } from "../helpers/program.ts";

controlTest("a trigger says why its files are not watched, until they are", async (rig) => {
  const trigger = `kind: Trigger
metadata: {name: files}
spec:
  event: {source: filesystem, filesystem: {paths: ["*.txt"]}}
  action: {workflow: w, workspace: nowhere}`;
  await rig.apply(trigger);
  const faults = async () => {
    const { status } = await rig.client.call("describe", {
      what: "trigger",
      name: "files",
      reveal: false,
    });
    return (status as { faults: string[] }).faults;
  };
  const [fault = ""] = await until("the fault", async () => {
    const found = await faults();
    return found.length > 0 ? found : undefined;
  });
  match(
    fault,
    /^files of trigger "files".* are not all watched: Workspace "nowhere" does not exist$/,
  );
  await rig.apply("kind: Workspace\nmetadata: {name: nowhere}\nspec: {path: workspaces/default}");
  await until("no fault", async () => (await faults()).length === 0 || undefined);
}, { skip: NOT_SLOW });

Deno.test("a trigger says which Connection brings its events and does not work", async () => {
  await using temp = await tempStore();
  const resources = manifestResources(`
kind: Connection
metadata: {name: tidepool}
spec:
  github:
    repository: brightwater/tidepool
    token: {fromSecret: {store: tidepool, key: token}}
    hooks: [{endpoint: github, id: 1}]
---
kind: Trigger
metadata: {name: push}
spec:
  event: {source: webhook, webhook: {endpoint: github, secret: {fromRef: github}}}
  action: {workflow: w, workspace: default}
`);
  const catalog = new Catalog(resources);
  const connection = resources.find(({ kind }) => kind === "Connection")!;
  const trigger = resources.find(({ kind }) => kind === "Trigger")!;
  const { project, name, createdAt } = connection;
  const host = {
    catalog,
    store: temp.store,
    health: new HealthConditions(),
    keyUses: { flush: () => Promise.resolve() } as never,
    sockets: { stateOf: () => undefined } as never,
  };
  deepEqual(await sourceStatus(trigger, host), { faults: [] });
  await temp.store.noteConnection(
    { project, name, createdAt },
    { fault: "401 Bad credentials" },
    1,
  );
  deepEqual(await sourceStatus(trigger, host), {
    faults: ["connection/tidepool, which brings its events: 401 Bad credentials"],
  });
  deepEqual(await sourceStatus(connection, host), {});
});
