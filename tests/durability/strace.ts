/**
 * Runs svc under strace, which records its system calls, or kills it in the middle of one.
 *
 * @module
 */

import { ONE_PROGRAM, type Program, run } from "../helpers/program.ts";
import { missing } from "../helpers/requirements.ts";

/** Every call by which files change, and by which requests are read and answered. */
const RECORDED = (
  "openat write writev pwrite64 pwritev pwritev2 ftruncate fsync fdatasync rename renameat " +
  "renameat2 link linkat unlink unlinkat mkdir mkdirat recvfrom recvmsg sendto sendmsg"
).split(" ");

/** Calls that change what lies in a directory, or have it on disk. */
const CHANGES = [
  "pwrite64",
  "ftruncate",
  "fsync",
  "fdatasync",
  "rename",
  "linkat",
  "unlink",
  "mkdir",
];

/** Why strace cannot be used here; undefined where it can. */
export async function whyNoStrace(): Promise<string | undefined> {
  const why = missing("strace");
  if (why !== undefined) return why;
  const { code, stderr } = await run("strace", ["-f", "-o", "/dev/null", "true"]);
  return code === 0 ? undefined : `strace may not trace here: ${stderr.trim().split("\n").at(-1)}`;
}

/** A program whose calls are recorded in a file; its process is the one that is started. */
export function recorded(file: string, program: Program = ONE_PROGRAM): Program {
  return {
    ...program,
    command: "strace",
    args: [
      // -D: the tracer is a grandchild, so that signals and the end are those of svc
      "-D",
      "-f",
      "-yy",
      "-s",
      "20000",
      "-o",
      file,
      "-e",
      `trace=${RECORDED.join()}`,
      "-e",
      "signal=none",
      "--",
      program.command,
      ...program.args,
    ],
  };
}

/**
 * A program that is killed when one of its threads makes its n-th change; of these paths, where some
 * are named.
 */
export function killedAt(
  n: number,
  paths: readonly string[] = [],
  program: Program = ONE_PROGRAM,
): Program {
  const calls = CHANGES.join();
  return {
    ...program,
    command: "strace",
    args: [
      "-f",
      "-o",
      "/dev/null",
      "-e",
      `trace=${calls}`,
      ...paths.flatMap((path) => ["-P", path]),
      "-e",
      `inject=${calls}:signal=KILL:when=${n}`,
      "--",
      program.command,
      ...program.args,
    ],
  };
}
