/** Which events the key of a Connection can speak for, through the whole intake. */

import { match, strictEqual as equal } from "node:assert/strict";
import { toJson } from "../../src/base/json.ts";
import { type VerifiedEvent, whyBeyondKey } from "../../src/connections/beyond_key.ts";
import { sign, webhookRig } from "../rigs/webhook_rig.ts";

/** All of them sign in the same way here: which of them did is what counts. */
const KEYS = {
  tidepool: "the key of the webhook of tidepool",
  other: "the key of the webhook of another one",
  reef: "the key of the webhook of the group",
  site: "the key of the webhook of the repository",
  acme: "the key of the webhook of the organization",
  app: "the key of the webhook of the app",
  chat: "the key of something that is no forge",
  elsewhere: "the key of the webhook at another server",
  by_hand: "the key that somebody wrote there",
};
type Key = keyof typeof KEYS;

const token = { fromSecret: { store: "tokens", key: "token" } };
const privateKey = { fromSecret: { store: "tokens", key: "pem" } };
const CONNECTIONS: Readonly<Record<string, unknown>> = {
  tidepool: { gitlab: { project: "brightwater/tidepool", token } },
  other: { gitlab: { project: "brightwater/other", token } },
  reef: { gitlab: { group: "reef/coral", token } },
  site: {
    github: { repository: "acme/Site", token },
    allow: { targets: ["acme/allowed"] },
  },
  acme: { github: { organization: "acme", token } },
  app: { github: { organization: "acme", app: { id: 12, privateKey } } },
  chat: { slack: { botToken: token } },
  elsewhere: {
    gitlab: { project: "brightwater/tidepool", api: "https://git.example.com/api/v4", token },
  },
};

const MANIFEST = [
  { kind: "SecretStore", metadata: { name: "hooks" }, spec: { data: KEYS } },
  ...Object.entries(CONNECTIONS).map(([name, spec]) => ({
    kind: "Connection",
    metadata: { name },
    spec,
  })),
  { kind: "Workflow", metadata: { name: "w" }, spec: { steps: [{ id: "s", run: "true" }] } },
  { kind: "Workspace", metadata: { name: "default" }, spec: { path: "repo" } },
  ...["all", "elsewhere"].map((name) => ({
    kind: "Trigger",
    metadata: { name },
    spec: {
      event: {
        source: "webhook",
        webhook: {
          secret: { fromRef: "hooks" },
          signatureHeader: "X-Hub-Signature-256",
          ...name === "all" ? {} : { connection: name },
        },
      },
      action: { workflow: "w", workspace: "default" },
    },
  })),
].map((one) => JSON.stringify(one)).join("\n---\n");

const gitlab = (path: unknown) => ({
  object_kind: "note",
  project: { id: 7, path_with_namespace: path },
});
const github = (name: unknown) => ({ repository: { id: 7, full_name: name } });

/** What the pipeline decides, and why. */
async function sent(key: Key, payload: unknown, at = "all") {
  await using rig = await webhookRig({ manifest: MANIFEST });
  const whyOwn = (event: VerifiedEvent) => {
    const reason = whyBeyondKey(event, rig.catalog);
    return reason === undefined ? undefined : { reason };
  };
  Object.assign(rig.host, { whyOwn });
  const body = toJson(payload);
  const answer = await rig.post(`/webhook/${at}`, body, sign(body, KEYS[key]));
  equal(answer.status, 200, await answer.text());
  const [delivery] = await rig.deliveries();
  return { tasks: (await rig.tasks()).length, ...delivery };
}

const TAKEN: readonly (readonly [string, Key, unknown])[] = [
  ["a project", "tidepool", gitlab("brightwater/tidepool")],
  ["a project in other letters", "tidepool", gitlab("Brightwater/TIDEPOOL")],
  ["a project of a group", "reef", gitlab("reef/coral/deep/one")],
  ["an event of a group itself", "reef", { event_name: "user_add_to_group", group_path: "coral" }],
  ["a repository", "site", github("acme/site")],
  ["a repository of an organization", "acme", github("acme/other")],
  ["an event of an organization itself", "acme", { organization: { login: "acme" } }],
  ["an app, for which GitHub alone writes", "app", github("stranger/site")],
  ["a key of no Connection", "by_hand", gitlab("brightwater/other")],
  ["a key of no forge", "chat", github("acme/site")],
];

Deno.test("the key of a Connection brings events of what it is to", async (t) => {
  for (const [what, key, payload] of TAKEN) {
    await t.step(what, async () => {
      const { tasks, outcome, reason } = await sent(key, payload);
      equal(outcome, "accepted", reason);
      equal(tasks, 1);
    });
  }
});

const REFUSED: readonly (readonly [string, Key, unknown, RegExp])[] = [
  [
    "another project that is connected",
    "tidepool",
    gitlab("brightwater/other"),
    /^the event is of brightwater\/other, but the key of Connection "tidepool" verified it, which is to brightwater\/tidepool\. If it was renamed or moved, .*: svc edit connection tidepool\. .*: svc connect gitlab brightwater\/other$/,
  ],
  ["a group with a longer name", "reef", gitlab("reef/coral-evil/one"), /of reef\/coral-evil\/one/],
  ["a group above", "reef", gitlab("reef/one"), /of reef\/one, but the key of Connection "reef"/],
  ["without the kind of an event", "tidepool", {
    project: { path_with_namespace: "brightwater/other" },
  }, /of brightwater\/other/],
  ["another repository", "site", github("acme/other"), /svc connect github acme\/other$/],
  ["a repository where answers alone may go", "site", github("acme/allowed"), /of acme\/allowed/],
  ["another organization", "acme", github("acme-evil/site"), /of acme-evil\/site/],
  ["GitHub's event with GitLab's key", "tidepool", github("brightwater/tidepool"), /one of GitHub/],
  ["GitLab's event with GitHub's key", "acme", gitlab("acme/site"), /is one of GitLab, but/],
  ["GitLab's event with an app's key", "app", gitlab("acme/site"), /is one of GitLab, but/],
  ["an event of both", "tidepool", {
    ...gitlab("brightwater/tidepool"),
    ...github("acme/site"),
  }, /is one of GitHub, but/],
  ["a name that is a list", "tidepool", gitlab(["brightwater/tidepool"]), /names no repository/],
  ["a name that is null", "site", github(null), /names no repository/],
  ["a name with a path", "reef", gitlab("reef/coral/../other"), /names no repository/],
  ["a letter that looks alike", "reef", gitlab("reef/coral/\u212Aelp"), /names no repository/],
];

Deno.test("the key of a Connection brings no events of anything else", async (t) => {
  for (const [what, key, payload, why] of REFUSED) {
    await t.step(what, async () => {
      const { tasks, outcome, reason } = await sent(key, payload);
      equal(outcome, "skipped", reason);
      match(reason ?? "", why);
      equal(tasks, 0);
    });
  }
});

Deno.test("a repository of the same name at another server is another one", async () => {
  const tidepool = gitlab("brightwater/tidepool");
  const here = await sent("elsewhere", tidepool, "elsewhere");
  equal(here.outcome, "accepted", here.reason);
  const { tasks, reason } = await sent("tidepool", tidepool, "elsewhere");
  equal(tasks, 0);
  match(
    reason ?? "",
    /at https:\/\/gitlab\.com\/api\/v4, but the trigger answers through "elsewhere" at/,
  );
});
