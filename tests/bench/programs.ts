/**
 * The programs that are measured: svc from the sources, svc compiled where that can be done here,
 * and an empty program compiled with the same base, beside which a cold start is looked at.
 *
 * @module
 */

import { join } from "node:path";
import { type Program, ROOT } from "../helpers/program.ts";

/** Runs the sources. */
export const SOURCE: Program = {
  name: "source",
  command: Deno.execPath(),
  args: [
    ...["run", "--quiet", "--no-prompt", "--allow-all", "--unstable-worker-options"],
    ...["--config", join(ROOT, "deno.json"), join(ROOT, "cli.ts")],
  ],
};

/** Builds `dist/svc`; `undefined` where no base for compiled programs is within reach. */
export async function compileSvc(): Promise<Program | undefined> {
  const { code, stderr } = await new Deno.Command(join(ROOT, ".ci/compile"), {
    stdin: "null",
  }).output();
  if (code === 0) return { name: "compiled", command: join(ROOT, "dist/svc"), args: [] };
  if (code === 3) return undefined;
  throw new Error(`svc cannot be compiled: ${new TextDecoder().decode(stderr)}`);
}

/** Compiles a program that does nothing; gives its path. */
export async function compileNothing(directory: string): Promise<string> {
  const entry = join(directory, "nothing.ts");
  await Deno.writeTextFile(entry, "");
  const output = join(directory, "nothing");
  const { success, stderr } = await new Deno.Command("/bin/sh", {
    // The base is found as `.ci/compile` finds it; the pinned Deno goes with it.
    args: [
      "-c",
      `helper="\${SVC_SHARED:+$SVC_SHARED/tools/denort}"
       if [ -z "\${DENORT_BIN:-}" ] && [ -x "$helper" ]; then DENORT_BIN=$("$helper"); export DENORT_BIN; fi
       exec "$(.ci/deno --pinned)" compile --quiet --no-config --no-check --no-code-cache --output "$2" "$1"`,
      ...["sh", entry, output],
    ],
    cwd: ROOT,
    stdin: "null",
  }).output();
  if (!success) throw new Error(`Nothing to compare with: ${new TextDecoder().decode(stderr)}`);
  return output;
}
