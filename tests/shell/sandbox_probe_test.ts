/**
 * What svc makes of a bubblewrap that fails: whether the machine can make no sandbox, or that is not
 * known.
 *
 * @module
 */

import { strictEqual as equal } from "node:assert/strict";
import { systemClock } from "../../src/base/clock.ts";
import { openProcessGroups } from "../../src/shell/process_groups.ts";
import { probeSandbox } from "../../src/shell/sandbox_probe.ts";
import { tempDir } from "../helpers/temp_dir.ts";

for (
  const [said, isUnknown] of [
    ["Creating new namespace failed: Resource temporarily unavailable", true],
    ["Creating new namespace failed: No space left on device", true],
    ["Can't mount tmpfs: Cannot allocate memory", true],
    ["Unknown option --disable-userns", undefined],
    ["setting up uid map: Permission denied", undefined],
  ] as const
) {
  Deno.test({
    name: `a probe in which bubblewrap says "${said}"`,
    ignore: Deno.build.os !== "linux",
    async fn() {
      await using dir = await tempDir();
      await using groups = openProcessGroups();
      await Deno.chmod(
        await dir.write("bwrap", `#!/bin/sh\necho "bwrap: ${said}" >&2; exit 1\n`),
        0o755,
      );
      const { fault } = await probeSandbox({
        groups,
        clock: systemClock,
        directory: `${dir.path}/shared`,
        home: "/home/svc-probe",
        env: () => `${dir.path}:/usr/bin:/bin`,
      });
      equal(fault?.isUnknown, isUnknown, fault?.why);
    },
  });
}
