/**
 * The environment that steps and plugins inherit from the daemon, which is only the variables that
 * are named here or by `--step-env`; and the variables that mark the processes of tasks.
 *
 * @module
 */

import { delimiter } from "node:path";

/** Variable that marks every process of a task, whatever its process group. */
export const TASK_MARK = "SVC_TASK_ID";

/**
 * Variable that marks the processes of one run of a task. Another daemon of this machine may run the
 * task next, and this daemon must not end the processes of that run.
 */
export const TASK_RUN_MARK = "SVC_TASK_RUN";

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
