/**
 * A cron plugin of a running daemon, on a clock that the test moves to its minute.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match } from "node:assert/strict";
import { hookKind } from "../helpers/manifests.ts";
import { setClock } from "../helpers/manual_clock.ts";
import { loggedTexts, textsIn } from "../helpers/stored_texts.ts";
import { until } from "../helpers/until.ts";
import { controlRig } from "./control_rig.ts";

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
