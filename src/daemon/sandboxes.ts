/**
 * The sandboxes of a daemon: what the machine can do, looked for when the daemon starts.
 *
 * @module
 */

import { isAbsolute } from "node:path";
import { sha256Hex } from "../base/bytes.ts";
import { programFiles } from "../calls/launcher.ts";
import type { Clock } from "../base/clock.ts";
import type { DataDir } from "../base/data_dir.ts";
import { openCgroups } from "../shell/cgroups.ts";
import type { ProcessGroups } from "../shell/process_groups.ts";
import { probeSandbox, type SandboxSupport } from "../shell/sandbox_probe.ts";
import type { InheritedEnv } from "../tasks/step/inherited_env.ts";
import type { RequiredSandbox } from "../resources/names.ts";
import type { Sandboxes } from "../tasks/sandbox/step_sandbox.ts";
import type { WrittenPlaces } from "../tasks/workspace/written_places.ts";

/** What the sandboxes of a daemon are made of. */
interface SandboxesHost {
  readonly groups: ProcessGroups;
  readonly clock: Clock;
  readonly dirs: DataDir;
  readonly env: (name: string) => string | undefined;
  readonly inherited: InheritedEnv;
  readonly required: RequiredSandbox;
  readonly written: WrittenPlaces;
}

/** Time for which a machine that cannot make a sandbox is not asked again. */
const RETRY_MS = 30_000;

/** Directories of the system, which users without a home directory have in its place. */
const SYSTEM = /^\/(usr|bin|sbin|lib\w*|opt|nix|etc|proc|dev|sys|run)(\/|$)/;

/** Home directory of steps where that of the daemon cannot be theirs. */
const OTHER_HOME = "/home/svc";

/** Begins to look what the machine can do. */
export function openSandboxes(host: SandboxesHost): Sandboxes & AsyncDisposable {
  const { groups, clock, dirs, env, inherited, required, written } = host;
  const home = homeOf(inherited.variables["HOME"]);
  const look = () => probeSandbox({ groups, clock, directory: dirs.sandbox, home, env });
  // A daemon that was killed has left sockets there.
  const cleared = Deno.remove(dirs.sandbox, { recursive: true }).catch(() => {});
  let support: Promise<SandboxSupport> | undefined;
  let askedAt = clock.monotonicMs();
  let cgroups: ReturnType<Sandboxes["cgroups"]> | undefined;
  return {
    required,
    home,
    program: programFiles(env),
    written,
    async support() {
      const known = await (support ??= cleared.then(look));
      const isFinal = known.fault === undefined && known.networkFault === undefined;
      if (isFinal || clock.monotonicMs() - askedAt < RETRY_MS) return known;
      // Somebody may have installed what was missing.
      askedAt = clock.monotonicMs();
      return await (support = look());
    },
    cgroups() {
      const owner = sha256Hex(dirs.root).slice(0, 12);
      return cgroups ??= openCgroups({ owner, clock, pid: Deno.pid }).catch((error) => {
        cgroups = undefined; // the next step tries again
        throw error;
      });
    },
    async [Symbol.asyncDispose]() {
      const opened = await cgroups?.catch(() => undefined);
      if (opened !== undefined && !("why" in opened)) await opened[Symbol.asyncDispose]();
    },
  };
}

/** The path at which steps have a home directory of their own: the daemon's, if that can lie there. */
function homeOf(home = ""): string {
  const isUsable = isAbsolute(home) && !SYSTEM.test(home) && home !== "/" && home !== "/tmp";
  return isUsable ? home : OTHER_HOME;
}
