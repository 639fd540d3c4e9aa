/**
 * A container for a test, in which systemd boots a root directory (`.ci/boot`).
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { join } from "node:path";
import { ROOT, run } from "./program.ts";
import { missing, NOT_ROOT } from "./requirements.ts";

/** A root directory with systemd; see CONTRIBUTING.md. */
const BOOTABLE = Deno.env.get("SVC_TEST_ROOT") ?? "";

/** Directory of the compiled program. */
export const DIST = Deno.env.get("SVC_TEST_DIST") ?? "";

/** Why no such container can be started here; `undefined` where it can. */
export const NOT_BOOTABLE = BOOTABLE === ""
  ? "SVC_TEST_ROOT names no root directory with systemd"
  : DIST === ""
  ? "a service runs a compiled program"
  : NOT_ROOT ?? missing("systemd-nspawn");

/** The result of one line. */
export interface LineResult {
  readonly line: string;
  readonly code: number;
  /** Standard output and standard error, mixed. */
  readonly out: string;
}

/**
 * Boots a machine and runs lines of a shell there as root, one after the other, whatever they come
 * to.
 *
 * @param directory what is in it is at `/svc-test` there, which is the working directory
 * @param prelude what comes before the first line: functions, files
 */
export async function boot(
  directory: string,
  prelude: string,
  lines: readonly string[],
): Promise<readonly LineResult[]> {
  await Deno.writeTextFile(join(directory, "lines"), lines.map((line) => `${line}\n`).join(""));
  await Deno.writeTextFile(join(directory, "script"), `${prelude}\n${EACH_LINE}`);
  const { code, stdout, stderr } = await run(
    join(ROOT, ".ci/boot"),
    [BOOTABLE, directory, "script"],
    { withinMs: 240_000 },
  );
  deepEqual([code, stdout, stderr], [0, "", ""]);
  return lines.map((line, at) => ({
    line,
    code: Number(Deno.readTextFileSync(join(directory, `code.${at + 1}`))),
    out: Deno.readTextFileSync(join(directory, `out.${at + 1}`)),
  }));
}

const EACH_LINE = `
at=0
while IFS= read -r line; do
  at=$((at + 1))
  (eval "$line") >"out.$at" 2>&1 </dev/null
  echo $? >"code.$at"
done <lines
`;
