/**
 * The place of a daemon that does not run: this process, with what its steps would inherit.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import type { DataDir } from "../base/data_dir.ts";
import { pathResolver } from "../base/user_paths.ts";
import { KnownSecrets } from "../secrets/known_secrets.ts";
import { openProcessGroups } from "../shell/process_groups.ts";
import { type ProbeHost, probeSandbox, type SandboxSupport } from "../shell/sandbox_probe.ts";
import { inheritEnv } from "../tasks/step/inherited_env.ts";
import { WrittenPlaces } from "../tasks/workspace/written_places.ts";
import type { Place } from "./place.ts";

/** The settings that a daemon here would have. */
export interface OwnPlaceOptions {
  readonly dirs: DataDir;
  /** Reads an environment variable. */
  readonly env: (name: string) => string | undefined;
  readonly clock: Clock;
  /** Names of variables that steps inherit beside the usual ones. */
  readonly stepEnv: readonly string[];
}

/** File mode mask of the checks: files for this user alone. */
const UMASK = 0o077;

/** Opens the place of a daemon that does not run. */
export function openOwnPlace(
  { dirs, env, clock, stepEnv }: OwnPlaceOptions,
): Place & AsyncDisposable {
  const groups = openProcessGroups();
  return {
    dirs,
    env,
    clock,
    groups,
    inDaemon: false,
    secrets: new KnownSecrets(),
    inherited: inheritEnv(env, { bin: dirs.bin, extra: stepEnv }),
    umask: UMASK,
    sandboxes: {
      support: () => probeElsewhere({ groups, clock, env }),
      written: new WrittenPlaces(dirs.written),
    },
    resolvePath: pathResolver({ from: dirs.root, home: env("HOME") }),
    [Symbol.asyncDispose]: () => groups[Symbol.asyncDispose](),
  };
}

/** Looks for sandboxes without a change of the data directory. */
async function probeElsewhere(
  host: Pick<ProbeHost, "groups" | "clock" | "env">,
): Promise<SandboxSupport> {
  const directory = await Deno.makeTempDir();
  try {
    return await probeSandbox({ ...host, directory, home: "/home/svc" });
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}
