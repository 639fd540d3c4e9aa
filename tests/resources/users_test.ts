/**
 * The uses of a resource: every kind of reference, found from its target.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { Catalog } from "../../src/resources/catalog.ts";
import { KindLookup } from "../../src/resources/kind_lookup.ts";
import { readManifests } from "../../src/resources/read_manifests.ts";
import type { ResourceKey } from "../../src/resources/resource.ts";
import { describeUse, needsOf, usesOf } from "../../src/resources/users.ts";

const TEXT = `
kind: Trigger
metadata: {name: signed}
spec:
  event:
    source: webhook
    webhook:
      secret: {fromRef: keys}
      crdRef: Chat
      slack: {botToken: {fromSecret: {store: keys, key: bot}}}
  action: {workflow: build, workspace: repo}
---
kind: Trigger
metadata: {name: after}
spec:
  event: {source: task, task: {workflow: build}}
  action: {workflow: notify, workspace: repo}
---
kind: Trigger
metadata: {name: signed, project: shop}
spec:
  event: {source: webhook, webhook: {secret: {fromRef: keys}, crdRef: Chat}}
  action: {workflow: build, workspace: repo}
---
kind: Workflow
metadata: {name: build}
spec:
  env: {A: {fromSecret: {store: keys, key: a}}}
  steps:
    - {id: one, agent: coder, template: ask, env: {B: {fromSecret: {store: keys, key: b}}}}
  finally:
    - {id: two, agent: coder, prompt: x}
---
kind: Agent
metadata: {name: coder}
spec: {command: cat, env: {T: {fromSecret: {store: keys, key: t}}}}
---
kind: Workspace
metadata: {name: repo}
spec: {path: x, env: {W: {fromSecret: {store: keys, key: w}}}}
---
kind: CustomResourceDefinition
metadata: {name: chats.example.com}
spec:
  kind: Chat
  plural: chats
  group: example.com
  versions: [{name: v1, schema: {type: object}}]
`;

function catalogOf(text: string): Catalog {
  const { resources, errors } = readManifests({ files: [{ name: "a", text }], crds: [] });
  deepEqual(errors, []);
  return new Catalog(
    resources.map(({ kind, project, name, metadata, spec }) => (
      { kind, project, name, metadata, spec, generation: 1, createdAt: 0, updatedAt: 0 }
    )),
  );
}

const CATALOG = catalogOf(TEXT);

const CASES: readonly {
  readonly what: string;
  readonly key: Partial<ResourceKey>;
  readonly users: readonly string[];
}[] = [
  {
    what: "a SecretStore, also one that does not exist yet",
    key: { kind: "SecretStore", name: "keys" },
    users: [
      "trigger/signed (spec.event.webhook.secret.fromRef): every request is refused with 401",
      "trigger/signed (spec.event.webhook.slack.botToken.fromSecret.store): svc cannot post to " +
      "Slack",
      "workflow/build (spec.env.A.fromSecret.store): tasks that need it fail",
      "workflow/build (spec.steps.0.env.B.fromSecret.store): tasks that need it fail",
      "agent/coder (spec.env.T.fromSecret.store): tasks that need it fail",
      "workspace/repo (spec.env.W.fromSecret.store): tasks that need it fail",
    ],
  },
  {
    what: "only those of its own project",
    key: { kind: "SecretStore", name: "keys", project: "shop" },
    users: [
      "trigger/signed of project shop (spec.event.webhook.secret.fromRef): " +
      "every request is refused with 401",
    ],
  },
  {
    what: "a Workflow, by what starts it and by what follows it",
    key: { kind: "Workflow", name: "build" },
    users: [
      "trigger/after (spec.event.task.workflow): nothing fires this trigger until it is applied",
      "trigger/signed (spec.action.workflow): its tasks fail until it is applied",
    ],
  },
  {
    what: "a Workspace",
    key: { kind: "Workspace", name: "repo" },
    users: [
      "trigger/after (spec.action.workspace): its tasks fail until it is applied",
      "trigger/signed (spec.action.workspace): its tasks fail until it is applied",
    ],
  },
  {
    what: "an Agent, by steps and by those under finally",
    key: { kind: "Agent", name: "coder" },
    users: [
      "workflow/build (spec.steps.0.agent): its tasks fail until it is applied",
      "workflow/build (spec.finally.0.agent): its tasks fail until it is applied",
    ],
  },
  {
    what: "a StepTemplate",
    key: { kind: "StepTemplate", name: "ask" },
    users: ["workflow/build (spec.steps.0.template): its tasks fail until it is applied"],
  },
  {
    what: "a definition, which is referred to by the kind that it defines, from every project",
    key: { kind: "CustomResourceDefinition", project: "", name: "chats.example.com" },
    users: [
      "trigger/signed (spec.event.webhook.crdRef): every request is refused with 401",
      "trigger/signed of project shop (spec.event.webhook.crdRef): every request is refused with 401",
    ],
  },
  { what: "no resource uses a trigger", key: { kind: "Trigger", name: "signed" }, users: [] },
  { what: "no resource uses another name", key: { kind: "Agent", name: "code" }, users: [] },
];

for (const { what, key, users } of CASES) {
  Deno.test(`users of a resource: ${what}`, () => {
    const wanted = { kind: "", project: "default", name: "", ...key };
    deepEqual(usesOf(wanted, CATALOG).map(describeUse), users);
  });
}

Deno.test("what a resource needs leads to keys, whether they exist or not", () => {
  const trigger = CATALOG.find("Trigger", "shop", "signed");
  const keys = (kinds: KindLookup) => needsOf(trigger!, kinds).map(({ key }) => key);
  deepEqual(keys(CATALOG.kinds), [
    { kind: "SecretStore", project: "shop", name: "keys" },
    { kind: "CustomResourceDefinition", project: "", name: "chats.example.com" },
    { kind: "Workflow", project: "shop", name: "build" },
    { kind: "Workspace", project: "shop", name: "repo" },
  ]);
  deepEqual(keys(new KindLookup([]))[1]?.name, "Chat"); // its definition is missing
});
