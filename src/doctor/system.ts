/**
 * The operating system: its C library, its /proc, and who adopts processes that are left behind.
 *
 * @module
 */

import { runTool } from "../tasks/workspace/run_tool.ts";
import { type Check, ok, warning } from "./check.ts";
import type { Scene } from "./place.ts";

/** First process of a machine or container, which adopts all others. */
const FIRST = 1;
const TIMEOUT_MS = 10_000;

/** Looks at the system. */
export const system: Check<Scene> = {
  name: "system",
  async look({ place }, signal) {
    const { os, arch } = Deno.build;
    if (os !== "linux") return [ok(`${os} ${arch}`)];
    const tool = {
      script: "getconf GNU_LIBC_VERSION; [ -r /proc/self/stat ] && [ -r /proc/self/environ ]",
      args: [],
      signal,
      timeoutMs: TIMEOUT_MS,
    };
    const { code, out } = await runTool(tool, place);
    const library = out.trim() || "a C library that does not say its version";
    return [
      code === 0 ? ok(`${os} ${arch}, ${library}, /proc`) : warning(
        `${os} ${arch}, ${library}; /proc cannot be read, so processes that leave the group of ` +
          "their step are not found: mount it",
      ),
      ...place.inDaemon && Deno.pid === FIRST
        ? [warning(
          "The daemon is process 1, which adopts what steps leave behind and does not reap it: " +
            'start the container with "--init"',
        )]
        : [],
    ];
  },
};
