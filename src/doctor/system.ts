/**
 * The operating system: its C library, its /proc, and the process that adopts orphans.
 *
 * @module
 */

import { runTool } from "../tasks/workspace/run_tool.ts";
import { type Check, type Finding, ok, warning } from "./check.ts";
import type { Scene } from "./place.ts";

/** First process of a machine or container, which adopts all others. */
const FIRST = 1;
const TIMEOUT_MS = 10_000;

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
    const library = out.trim() || "a C library of unknown version";
    return systemFindings({
      name: `${os} ${arch}, ${library}`,
      hasProc: code === 0,
      isFirst: place.inDaemon && Deno.pid === FIRST,
    });
  },
};

/** The properties of a system that svc depends on. */
export interface SystemFacts {
  readonly name: string;
  /** Whether its /proc can be read. */
  readonly hasProc: boolean;
  /** Whether the daemon is its first process. */
  readonly isFirst: boolean;
}

/** The findings about a system. */
export function systemFindings({ name, hasProc, isFirst }: SystemFacts): readonly Finding[] {
  return [
    hasProc ? ok(`${name}, /proc`) : warning(
      `${name}; /proc cannot be read, so processes that leave the group of their step are not ` +
        "found: mount it",
    ),
    ...isFirst
      ? [warning(
        "The daemon is process 1, which adopts processes that steps leave behind but does not " +
          'reap them: start the container with "--init"',
      )]
      : [],
  ];
}
