/**
 * Whether sandboxes can be made here: bubblewrap needs rights that many containers do not have. Tests that
 * need one are skipped by name; `SVC_REQUIRE_SANDBOX=1`, which `.ci/run` sets, makes a failure of that.
 *
 * @module
 */

import { systemClock } from "../../src/base/clock.ts";
import { openProcessGroups } from "../../src/shell/process_groups.ts";
import { probeSandbox } from "../../src/shell/sandbox_probe.ts";
import { tempDir } from "./temp_dir.ts";

/** Why a test that needs a sandbox, and one with rules for the network, is skipped. */
export const NO_SANDBOX: string | undefined = Deno.env.get("SVC_REQUIRE_SANDBOX") === "1"
  ? undefined // then a test that cannot have one fails
  : await findLack();

async function findLack(): Promise<string | undefined> {
  await using directory = await tempDir();
  await using groups = openProcessGroups();
  const { fault, networkFault } = await probeSandbox({
    groups,
    clock: systemClock,
    directory: directory.path,
    home: "/home/svc",
    env: (name) => Deno.env.get(name),
  });
  return (fault ?? networkFault)?.why;
}
