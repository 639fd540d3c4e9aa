/**
 * A daemon on a data directory that others can get at: closed where that can be done, refused where
 * not, and told while it stays so.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, rejects } from "node:assert/strict";
import { join } from "node:path";
import { NOT_ROOT, skippable } from "../helpers/requirements.ts";
import { controlRig, controlTest } from "../rigs/control_rig.ts";

controlTest(
  "a daemon closes files that others could write to, and says so in its log",
  async (rig) => {
    const [line = ""] = rig.logged.filter((one) => one.includes("Closed to others"));
    match(line, /"level":"warn".*was 0777.*bin.*others could write there until now/);
    const modes = [rig.dirs.root, rig.dirs.bin].map((path) =>
      (Deno.statSync(path).mode ?? 0) & 0o777
    );
    deepEqual(modes, [0o700, 0o700]);
    deepEqual((await rig.client.call("status", {})).degraded, []);
  },
  {
    async prepare({ root, bin }) {
      for (const path of [root, bin]) await Deno.chmod(path, 0o777);
    },
  },
);

controlTest("svc status names a directory that others can write to", async (rig) => {
  await Deno.chmod(rig.dirs.controlPlane, 0o777);
  match((await rig.client.call("status", {})).degraded.join(), /write to ".*control-plane".*chmod/);
  await Deno.chmod(rig.dirs.controlPlane, 0o700);
});

for (
  const [what, spoil, skip] of [
    ["others can write", (path: string) => Deno.chmod(path, 0o606), undefined],
    ["belongs to somebody else", (path: string) => Deno.chown(path, 65_534, 65_534), NOT_ROOT],
  ] as const
) {
  controlTest(
    `an access policy that ${what} lets callers on the socket only read`,
    async (rig) => {
      await Deno.writeTextFile(rig.dirs.udsPolicy, "max_role: admin\n", { mode: 0o600 });
      await spoil(rig.dirs.udsPolicy);
      await rejects(
        rig.client.call("token.create", { role: "admin", ttl_secs: 60, name: "x" }),
        { code: "forbidden" },
      );
      match(
        (await rig.client.call("status", {})).degraded.join(),
        /uds-policy\.yaml is not usable/,
      );
    },
    { skip },
  );
}

Deno.test({
  ...skippable(
    "a daemon does not start on a directory of which something belongs to somebody else",
    NOT_ROOT,
  ),
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const give = async ({ scripts }: { scripts: string }) => {
      await Deno.writeTextFile(join(scripts, "check.sh"), "#!/bin/sh\n");
      await Deno.chown(join(scripts, "check.sh"), 65_534, 65_534);
    };
    await rejects(controlRig(give), (error: Error & { details?: readonly string[] }) => {
      match(`${error.message}: ${error.details}`, /open to others: .*check\.sh".*chown it/);
      return true;
    });
  },
});
