/**
 * Writes `bin/svc` of the data directory, a script that runs this program, so that plugins and steps
 * can call `svc` wherever it is installed. Inside a run the script asks the daemon first.
 *
 * @module
 */

import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { DataDir } from "../base/data_dir.ts";
import { writeDurably } from "../base/durable_files.ts";
import { existingPaths } from "../base/existing_paths.ts";
import { shellWord } from "../base/shell_word.ts";
import { launcherScript } from "./launcher_script.ts";

/** Writes the script anew; gives a warning for the operator if it cannot. */
export async function writeLauncher(
  { root, bin, calls }: Pick<DataDir, "root" | "bin" | "calls">,
  env: (name: string) => string | undefined,
): Promise<string | undefined> {
  const path = join(bin, "svc");
  const compiled = Deno.build.standalone ? compiledSvc() : "";
  const program = compiled === "" ? fromSource(env) : compiled && `exec ${shellWord(compiled)}`;
  if (program === undefined) {
    return `No "svc" beside ${Deno.execPath()}: plugins and steps cannot call svc`;
  }
  // In one step: a process that starts the script meanwhile must not find half of it.
  await writeDurably(path, launcherScript({ program, root, calls }), 0o700);
  return undefined;
}

/** The files that the script needs to run the program, for a place that has no others. */
export function programFiles(env: (name: string) => string | undefined): readonly string[] {
  if (!Deno.build.standalone) {
    const sources = ["src", "integrations", "cli.ts", "deno.json", "deno.lock", "console"];
    const paths = [Deno.execPath(), denoDir(env), ...sources.map((name) => join(SOURCES, name))];
    return existingPaths(paths);
  }
  const program = compiledSvc();
  return program === undefined ? [] : [program];
}

/** Path of the compiled `svc`: this program, or the one beside `svcd`. */
function compiledSvc(): string | undefined {
  const self = Deno.execPath();
  if (basename(self) !== "svcd") return self;
  const sibling = join(dirname(self), "svc");
  try {
    return Deno.statSync(sibling).isFile ? sibling : undefined;
  } catch {
    return undefined;
  }
}

/** Root of the sources. */
const SOURCES = fileURLToPath(new URL("../..", import.meta.url));

function denoDir(env: (name: string) => string | undefined): string {
  const home = env("HOME") ?? "";
  return env("DENO_DIR") ?? join(env("XDG_CACHE_HOME") ?? join(home, ".cache"), "deno");
}

/** Shell words that run the sources, with the variables that Deno needs if `HOME` is another one. */
function fromSource(env: (name: string) => string | undefined): string {
  const cache = denoDir(env);
  const root = SOURCES;
  const variables = { DENO_DIR: cache, DENO_TLS_CA_STORE: env("DENO_TLS_CA_STORE") };
  const exports = Object.entries(variables).filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${shellWord(value ?? "")}`).join(" ");
  const flags = "--cached-only --frozen --no-prompt --allow-all";
  return `${exports} exec ${shellWord(Deno.execPath())} run ${flags} ` +
    `-c ${shellWord(join(root, "deno.json"))} ${shellWord(join(root, "cli.ts"))}`;
}
