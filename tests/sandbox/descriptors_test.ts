/**
 * Descriptors that the daemon has from the program that started it: no step in a sandbox has them, also
 * not through the first process there.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok } from "node:assert/strict";
import { join } from "node:path";
import { ROOT, run } from "../helpers/program.ts";
import { missing, skippable } from "../helpers/requirements.ts";
import { NO_SANDBOX } from "../helpers/sandbox.ts";
import { tempDir } from "../helpers/temp_dir.ts";

const FIXTURE = join(ROOT, "tests/fixtures/run_in_sandbox.ts");

for (const number of [5, 9, 10, 42, 250]) {
  Deno.test({
    ...skippable(
      `descriptor ${number} of the daemon is not the step's`,
      missing("bash", "unshare") ?? NO_SANDBOX,
    ),
    async fn() {
      await using dir = await tempDir();
      const secret = await dir.write("secret", "the secret\n");
      const find =
        'for p in self 1; do for f in /proc/$p/fd/*; do readlink "$f"; [ -f "$f" ] && cat "$f"; done; ' +
        "done 2>/dev/null </dev/null; echo end";
      const start = `exec ${number}<"$1"; exec "$2" run -A --no-check "$3" "$4" "$5"`;
      const args = ["-c", start, "bash", secret, Deno.execPath(), FIXTURE, find, `${dir.path}/s`];
      const { code, stdout, stderr } = await run("bash", args);
      if (stdout.startsWith("fault: ")) return console.error(`SKIPPED: ${stdout}`);
      deepEqual([code, stdout.trimEnd().endsWith("end")], [0, true], stderr);
      ok(!stdout.includes("secret"), stdout);
    },
  });
}
