/**
 * A cron plugin of a running daemon, on a clock that the test moves to its minute.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { hookKind } from "../helpers/manifests.ts";
import { NOT_SLOW, ROOT } from "../helpers/program.ts";
import { setClock } from "../helpers/manual_clock.ts";
import { loggedTexts, textsIn } from "../helpers/stored_texts.ts";
import { until } from "../helpers/until.ts";
import { controlRig } from "../rigs/control_rig.ts";
import { skippable } from "../helpers/requirements.ts";

/** Renews a secret, prints its new value, and fails. */
const SCRIPT = `#!/bin/sh
S="$(date +%s)-renewed-by-cron"
svc tool secret-rotate renewals key --value "$S" >/dev/null
echo "I know $S" >&2
exit 1
`;

const MANIFEST = JSON.stringify(hookKind({
  name: "renew",
  type: "cron",
  command: "scripts/renew.sh",
  schedule: "* * * * *",
  timeout: 60,
}));
const STORE =
  "kind: SecretStore\nmetadata: {name: renewals}\nspec: {data: {key: not-yet-renewed}}\n";
const POLICY = "mode: allowlist\nallowed_command_prefixes: [scripts/]\nmax_timeout_secs: 60\n";

Deno.test({
  name: "a cron plugin runs when its minute comes; the secret it makes and prints is hidden",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const clock = setClock(Date.parse("2026-05-05T11:59:30Z"));
    await using rig = await controlRig(async ({ root, scripts }) => {
      await Deno.writeTextFile(`${scripts}/renew.sh`, SCRIPT, { mode: 0o700 });
      await Deno.writeTextFile(`${root}/plugin-policy.yaml`, POLICY, { mode: 0o600 });
    }, clock);
    await rig.apply(STORE, MANIFEST);
    const results = async () =>
      (await rig.client.call("get", { what: "audit" })).items.map((row) => row["result"]);
    deepEqual(await results(), ["allowed"], "the apply, and no run");
    clock.time = Date.parse("2026-05-05T12:00:00Z");
    await until(
      "the end of the cron plugin",
      async () => (await results()).includes("failed") || undefined,
    );
    const shown = JSON.stringify(await rig.client.call("get", { what: "audit" }));
    match(shown, /I know \*\*\*/);
    const texts = [
      ["audit", shown],
      ["log", rig.logged.join("\n")],
      ...await loggedTexts(rig.dirs.root),
      ...await textsIn(rig.dirs.root),
    ] as const;
    deepEqual(texts.filter(([, text]) => text.includes("-renewed-by-cron")), []);
  },
});

/** Runs cron plugins with `scripts` at the minutes that `minute` moves to. */
async function cronRig(scripts: Readonly<Record<string, string>>) {
  const clock = setClock(Date.parse("2026-05-05T11:59:30Z"));
  const rig = await controlRig(async ({ root, scripts: place }) => {
    for (const [name, text] of Object.entries(scripts)) {
      await Deno.writeTextFile(`${place}/${name}`, text, { mode: 0o700 });
    }
    await Deno.writeTextFile(`${root}/plugin-policy.yaml`, POLICY, { mode: 0o600 });
  }, clock);
  const runs = async () =>
    (await rig.client.call("get", { what: "audit" })).items
      .filter((row) => row["action"] === "execute" && row["result"] !== "running");
  return {
    rig,
    async minute() {
      const before = (await runs()).length;
      clock.time += 60_000;
      await until("the run", async () => (await runs()).length > before || undefined);
      return (await runs())[0];
    },
    degraded: async () => (await rig.client.call("status", {})).degraded,
  };
}

Deno.test({
  ...skippable(
    "a plugin that fails twice in a row is degraded and told of, until it works or changes",
    NOT_SLOW,
  ),
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const { rig, minute, degraded } = await cronRig({ "renew.sh": "#!/bin/sh\nexit 3\n" });
    await using _rig = rig;
    const told = JSON.stringify({
      kind: "Notification",
      metadata: { name: "me" },
      spec: { on: ["plugin.failed"], to: [{ webhook: { url: "http://127.0.0.1:9/" } }] },
    });
    await rig.apply(told, MANIFEST);
    await minute();
    deepEqual(await degraded(), [], "once can happen");
    const row = await minute();
    const fault =
      `plugin Hook/renew failed 2 times in a row: cron "renew": exit code 3, and nothing ` +
      `on standard error (svc describe audit/${row?.["id"]})`;
    deepEqual(await degraded(), [fault]);
    const message = await until("what is told", async () => {
      const { items } = await rig.client.call("get", { what: "outbox" });
      return items[0];
    });
    const { kind, title, text } = message["body"] as Record<string, string>;
    deepEqual([kind, title, text], ["plugin.failed", "A plugin fails again and again", fault]);
    await minute();
    match((await degraded())[0] ?? "", /failed 3 times in a row/);
    equal((await rig.client.call("get", { what: "outbox" })).items.length, 1, "told once");
    await Deno.writeTextFile(`${rig.dirs.scripts}/renew.sh`, "#!/bin/sh\n", { mode: 0o700 });
    await minute();
    deepEqual(await degraded(), [], "it works");
    await Deno.writeTextFile(`${rig.dirs.scripts}/renew.sh`, "#!/bin/sh\nexit 3\n");
    await minute();
    await minute();
    equal((await degraded()).length, 1);
    await rig.apply(MANIFEST.replace("* * * * *", "0 0 1 1 *"));
    await until("another definition", async () => (await degraded()).length === 0 || undefined);
  },
});

Deno.test({
  name: "the cron plugin of docs/plugins.md makes its token, whatever else the page has set",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const examples = `${ROOT}/docs/examples/plugins`;
    const script = await Deno.readTextFile(`${examples}/scripts/refresh-token.sh`);
    const { rig, minute } = await cronRig({ "refresh-token.sh": script });
    await using _rig = rig;
    const chat = (await Deno.readTextFile(`${examples}/chat.yaml`))
      .replace("*/30 * * * *", "* * * * *");
    await rig.apply(chat);
    const missing = await minute();
    deepEqual([missing?.["result"], missing?.["exit_code"]], ["failed", 1]);
    match(String(missing?.["stderr"]), /there is no SecretStore chat/);
    const secret = {
      store: "chat",
      key: "signing_secret",
      value: "a secret of the page",
      create: true,
    };
    const set = await rig.client.call("secret.rotate", secret);
    deepEqual([set.uses, set.readable_by], [
      0,
      ["trigger/chat", "customresourcedefinition/chats.example.com"],
    ]);
    equal((await minute())?.["result"], "ok");
    equal((await minute())?.["result"], "ok");
    const found = await rig.client.call("describe", { what: "ss", name: "chat", reveal: true });
    const { data } = found["spec"] as { data: Record<string, string> };
    deepEqual(Object.keys(data).toSorted(), ["access_token", "signing_secret"]);
    match(data["access_token"] ?? "", /^renewed-/);
    const { readable_by } = found["status"] as { readable_by: string[] };
    deepEqual(readable_by, set.readable_by);
    const warned = async (...targets: { what: string; names: string[] }[]) =>
      (await rig.client.call("delete", { targets, dry_run: true })).warnings;
    const store = { what: "secretstore", names: ["chat"] };
    const [trigger, definition] = set.readable_by;
    const may = "may read secretstore/chat: check their scripts";
    deepEqual(await warned(store), [`plugins of ${trigger}, ${definition} ${may}`]);
    deepEqual(await warned(store, { what: "trigger", names: ["chat"] }), [
      `plugins of ${definition} ${may}`,
    ]);
    deepEqual(await warned({ what: "trigger", names: ["chat"] }), []);
  },
});
