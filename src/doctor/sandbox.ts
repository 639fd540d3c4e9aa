/**
 * Whether the sandbox of agents works here: bubblewrap, run through a shell as a step would run it.
 *
 * @module
 */

import { hasProgram } from "../tasks/step/program.ts";
import { runTool } from "../tasks/workspace/run_tool.ts";
import { type Check, ok, warning } from "./check.ts";
import type { Scene } from "./place.ts";

/** Uses the parts of bubblewrap that agents use: its own process namespace, /proc and /dev. */
const PROBE = "bwrap --ro-bind / / --unshare-pid --proc /proc --dev /dev true";
const TIMEOUT_MS = 10_000;

/** Advice, by the message of bubblewrap. */
const CURES: readonly (readonly [RegExp, string])[] = [
  [
    /mount proc|mounting proc/i,
    "a part of /proc is covered here: take ProtectKernelTunables, ProtectKernelLogs, ProcSubset " +
    "and ProtectProc out of the unit, or run the container with --security-opt systempaths=unconfined",
  ],
  [
    /namespace|uid map|clone|Operation not permitted|Permission denied/i,
    "user namespaces are not allowed here: see sysctl user.max_user_namespaces and " +
    "kernel.apparmor_restrict_unprivileged_userns, RestrictNamespaces of the unit, and the " +
    "seccomp profile of a container",
  ],
];

export const sandbox: Check<Scene> = {
  name: "sandbox",
  async look({ place }, signal) {
    const { PATH: path = "" } = place.inherited.variables;
    if (!await hasProgram("bwrap", { cwd: "/", path })) {
      return [ok("bwrap (bubblewrap) is not installed: agents that need it cannot use a sandbox")];
    }
    try {
      const tool = { script: PROBE, args: [], signal, timeoutMs: TIMEOUT_MS };
      const { code, err } = await runTool(tool, place);
      if (code === 0) return [ok("bwrap works as agents use it")];
      const said = err.split("\n").find((line) => line.trim() !== "") ?? `exit code ${code}`;
      const cure = CURES.find(([pattern]) => pattern.test(err))?.[1] ?? "try it as a step would";
      return [warning(`"${PROBE}" fails (${said.trim().slice(0, 200)}): ${cure}`)];
    } catch {
      const seconds = `${TIMEOUT_MS / 1000} seconds`;
      return [warning(`"${PROBE}" did not end within ${seconds}: try it by hand`)];
    }
  },
};
