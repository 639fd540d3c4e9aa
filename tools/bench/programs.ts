/**
 * The programs that the bench measures besides svc from the sources: the compiled svc if it can be
 * built here, an earlier svc, and an empty program compiled with the same base, with which a cold
 * start is compared.
 *
 * @module
 */

import { join, resolve } from "node:path";
import { type Program, ROOT, runSvc } from "../../tests/helpers/program.ts";

/** Builds `dist/svc`; `undefined` if no base for compiled programs is available. */
export async function compileSvc(): Promise<Program | undefined> {
  const { code, stderr } = await new Deno.Command(join(ROOT, ".ci/compile"), {
    stdin: "null",
  }).output();
  if (code === 0) return { name: "compiled", command: join(ROOT, "dist/svc"), args: [] };
  if (code === 3) return undefined;
  throw new Error(`svc cannot be compiled: ${new TextDecoder().decode(stderr)}`);
}

/**
 * An earlier compiled `svc`, from the path of its executable.
 *
 * @throws {Error} when that does not run as `svc`.
 */
export async function findBaseline(path: string): Promise<Program> {
  const program: Program = { name: "compiled", command: resolve(path), args: [] };
  const { code, stdout } = await runSvc(program, ["version"])
    .catch(() => ({ code: 1, stdout: "" })); // no program at all
  if (code === 0 && stdout.startsWith("svc ")) return program;
  throw new Error(
    `--baseline takes the path of a compiled svc; "${path} version" names no version`,
  );
}

/** Compiles a program that does nothing; returns its path. */
export async function compileNothing(directory: string): Promise<string> {
  const entry = join(directory, "nothing.ts");
  await Deno.writeTextFile(entry, "");
  const output = join(directory, "nothing");
  const { success, stderr } = await new Deno.Command("/bin/sh", {
    // The base is found as in `.ci/compile`, and needs the pinned Deno.
    args: [
      "-c",
      `helper="\${SVC_SHARED:+$SVC_SHARED/tools/denort}"
       if [ -z "\${DENORT_BIN:-}" ] && [ -x "$helper" ]; then DENORT_BIN=$("$helper"); export DENORT_BIN; fi
       exec "$(.ci/deno --pinned)" compile --quiet --no-config --no-check --no-code-cache --output "$2" "$1"`,
      "sh",
      entry,
      output,
    ],
    cwd: ROOT,
    stdin: "null",
  }).output();
  if (!success) throw new Error(`Nothing to compare with: ${new TextDecoder().decode(stderr)}`);
  return output;
}
