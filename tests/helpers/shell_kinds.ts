/**
 * The two kinds of shells in which a line may run, for tests that hold for both.
 *
 * @module
 */

import { systemClock } from "../../src/base/clock.ts";
import type { ProcessGroups } from "../../src/shell/process_groups.ts";
import { runShell, type ShellCommand } from "../../src/shell/run_shell.ts";
import { missing, skippable } from "./requirements.ts";
import { until } from "./until.ts";

/** A kind of shell. */
export interface ShellKind {
  readonly isPooled: boolean;
  /** To be called before: the next line runs in a shell of this kind. */
  ready(groups: ProcessGroups): Promise<void>;
  /** Fields of a command with this standard input, as it runs in such a shell. */
  fields(stdin?: Uint8Array): Pick<ShellCommand, "pool" | "stdinFile">;
}

const OWN: ShellKind = { isPooled: false, ready: () => Promise.resolve(), fields: () => ({}) };

const POOL = "test";
const made: string[] = [];

const POOLED: ShellKind = {
  isPooled: true,
  fields(stdin) {
    if (stdin === undefined) return { pool: POOL };
    const stdinFile = Deno.makeTempFileSync({ prefix: "svc-test-stdin-" });
    Deno.writeFileSync(stdinFile, stdin);
    made.push(stdinFile);
    return { pool: POOL, stdinFile };
  },
  ready: async (groups) => void await warmPool(groups, POOL),
};

/** Runs lines of a pool until they run in a pooled shell; returns its process group. */
export async function warmPool(groups: ProcessGroups, pool: string): Promise<number> {
  let before = 0;
  return await until("a pooled shell", async () => {
    let group = 0;
    await runShell({
      line: ":",
      cwd: "/",
      env: {},
      umask: 0o022,
      graceMs: 1000,
      pool,
      onOutput() {},
      onStart: (pid) => group = pid,
    }, { groups, clock: systemClock });
    const isSame = group === before;
    before = group;
    return isSame ? group : undefined;
  });
}

/** Registers a test for each kind of shell. */
export function eachShell(
  name: string,
  body: (kind: ShellKind) => Promise<void>,
  skip?: string,
): void {
  Deno.test({ ...skippable(name, skip), fn: () => body(OWN) });
  Deno.test({
    ...skippable(`${name} (pooled shell)`, skip ?? missing("dash")),
    async fn() {
      await body(POOLED).finally(() => made.splice(0).forEach((path) => Deno.removeSync(path)));
    },
  });
}
