/**
 * A place in memory for the files that svc has only while something runs, as systemd gives one to a
 * service and a login to a user.
 *
 * @module
 */

import { statfsSync } from "node:fs";
import {
  type DaemonOptions,
  type DataDirectory,
  initDataDirectory,
} from "../../tests/helpers/daemon.ts";
import type { Program } from "../../tests/helpers/program.ts";
import type { BenchContext } from "./scenario.ts";

/** Type of the file system in memory, as the kernel reports it. */
const TMPFS = 0x01021994;

/** Finds a directory in memory, and says so if there is none. */
export function findMemory({ note }: Pick<BenchContext, "note">): string | undefined {
  const places = [Deno.env.get("XDG_RUNTIME_DIR") ?? "", "/run", "/tmp"];
  const found = places.find((path) => path !== "" && isInMemory(path));
  if (found === undefined) {
    note(
      "SKIPPED: figures with files in memory: neither $XDG_RUNTIME_DIR nor /run nor /tmp is a tmpfs",
    );
  }
  return found;
}

/** Whether this user can write there, and it is in memory. */
function isInMemory(path: string): boolean {
  try {
    if (statfsSync(path).type !== TMPFS) return false;
    Deno.removeSync(Deno.makeTempDirSync({ dir: path }));
    return true;
  } catch {
    return false;
  }
}

/** A data directory for a daemon, with what it needs to have its short-lived files in memory. */
export interface InMemory extends AsyncDisposable, Required<Pick<DaemonOptions, "env">> {
  readonly directory: DataDirectory;
}

/**
 * Makes a data directory whose `run/` is in memory, for programs that know no other place, and a
 * runtime directory there.
 */
export async function openInMemory(program: Program, memory: string): Promise<InMemory> {
  await using opening = new AsyncDisposableStack();
  const directory = opening.use(await initDataDirectory(program));
  const runtime = await Deno.makeTempDir({ dir: memory, prefix: "svc-bench-" });
  opening.defer(() => Deno.remove(runtime, { recursive: true }));
  await Deno.mkdir(`${runtime}/run`, { mode: 0o700 });
  await Deno.remove(`${directory.path}/run`, { recursive: true });
  await Deno.symlink(`${runtime}/run`, `${directory.path}/run`);
  const open = opening.move();
  return {
    directory,
    env: { XDG_RUNTIME_DIR: runtime },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}
