/**
 * `bin/svc` in the data directory: runs this very program, so that plugins and steps
 * can call `svc` wherever and however it was installed.
 *
 * @module
 */

import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** What the launcher depends on. */
export interface LauncherOptions {
  /** Directory it is written to. */
  readonly bin: string;
  /** Reads an environment variable. */
  readonly env: (name: string) => string | undefined;
}

/** Writes the launcher anew; gives what an operator should know, if anything. */
export async function writeLauncher(options: LauncherOptions): Promise<string | undefined> {
  const path = join(options.bin, "svc");
  const fresh = `${path}.${crypto.randomUUID()}`;
  if (Deno.build.standalone) {
    const program = compiledSvc();
    if (program === undefined) {
      return `No "svc" beside ${Deno.execPath()}: plugins and steps cannot call svc`;
    }
    await Deno.symlink(program, fresh);
  } else {
    await Deno.writeTextFile(fresh, fromSource(options.env), { mode: 0o700 });
    await Deno.chmod(fresh, 0o700);
  }
  await Deno.rename(fresh, path); // in one step: a process that starts it meanwhile never finds half of it
  return undefined;
}

/** The compiled `svc`: this program, or the one beside `svcd`. */
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

/** A script that carries what Deno needs: its children may have another HOME. */
function fromSource(env: (name: string) => string | undefined): string {
  const home = env("HOME") ?? "";
  const cache = env("DENO_DIR") ?? join(env("XDG_CACHE_HOME") ?? join(home, ".cache"), "deno");
  const root = fileURLToPath(new URL("..", import.meta.url));
  const variables = { DENO_DIR: cache, DENO_TLS_CA_STORE: env("DENO_TLS_CA_STORE") };
  const exports = Object.entries(variables).filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${quote(value ?? "")}`).join(" ");
  const flags = "--cached-only --frozen --no-prompt --allow-all";
  return `#!/bin/sh\n${exports} exec ${quote(Deno.execPath())} run ${flags} ` +
    `-c ${quote(join(root, "deno.json"))} ${quote(join(root, "cli.ts"))} "$@"\n`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
