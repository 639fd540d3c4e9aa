/**
 * The environment that steps and plugins inherit from the daemon: only the variables that are named
 * here or by `--step-env`.
 *
 * @module
 */

import { delimiter } from "node:path";

/** Variables that every step inherits from the daemon. */
const INHERITED = ["HOME", "USER", "SHELL", "LANG", "TZ", "TMPDIR"];

const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** The environment that processes inherit from the daemon. */
export interface InheritedEnv {
  readonly variables: Readonly<Record<string, string>>;
}

/** Variables that every plugin inherits from the daemon. */
export const PLUGIN_VARIABLES: readonly string[] = ["HOME", "LANG", "TZ"];

/** Reads the variables `names` and `extra` (those of `--step-env`), and puts `bin` first on the PATH. */
export function inheritEnv(
  env: (name: string) => string | undefined,
  options: { bin: string; extra: readonly string[] },
  names: readonly string[] = INHERITED,
): InheritedEnv {
  const variables: Record<string, string> = {};
  for (const name of [...names, ...options.extra]) {
    const value = env(name);
    if (value !== undefined) variables[name] = value;
  }
  variables["PATH"] = [options.bin, env("PATH") ?? DEFAULT_PATH].join(delimiter);
  return { variables };
}
