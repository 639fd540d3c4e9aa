/**
 * Runs a program of the machine for svc itself (git, cp, rm): a fixed shell script whose arguments
 * are `"$1"`, `"$2"`, …, in an environment in which nothing asks anybody anything.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import type { KnownSecrets } from "../../secrets/known_secrets.ts";
import type { ProcessGroups } from "../../shell/process_groups.ts";
import { runShell } from "../../shell/run_shell.ts";
import { type InheritedEnv, TASK_MARK } from "../step/step_env.ts";

/** What running a tool needs. */
export interface ToolHost {
  readonly clock: Clock;
  /** Ends what it leaves behind. */
  readonly groups: ProcessGroups;
  /**
   * Hides secrets in what it says: addresses hold them, and hooks of a repository print anything.
   */
  readonly secrets: KnownSecrets;
  /** What it inherits; most of it is left out. */
  readonly inherited: InheritedEnv;
  /** File mode mask: what it makes is for steps to work on. */
  readonly umask: number;
}

/** A script with what goes into it. */
export interface Tool {
  readonly script: string;
  /** `$1`, `$2`, …. */
  readonly args: readonly string[];
  /** Ends it; it has failed then. */
  readonly signal?: AbortSignal | undefined;
  /** Task it works for: after a crash it is ended with whatever else that has left. */
  readonly taskId?: string | undefined;
}

/** How it ended. */
export interface ToolResult {
  /** Exit code. */
  readonly code: number;
  /** Standard output, its beginning at least. */
  readonly out: string;
  /** Standard error, its beginning at least. */
  readonly err: string;
}

/** Of a configuration of git or ssh, and of temporary files. */
const INHERITED = ["PATH", "HOME", "USER", "TMPDIR", "SSH_AUTH_SOCK"];
/** A checkout of a large repository takes minutes. */
const TIMEOUT_MS = 30 * 60_000;
const GRACE_MS = 2000;
/** Kept of each stream. */
const MAX_OUTPUT = 64 * 1024;

/**
 * Runs a tool to its end.
 *
 * @throws {AppError} `invalid` when it cannot be started or takes too long.
 */
export async function runTool(tool: Tool, host: ToolHost): Promise<ToolResult> {
  const kept = { out: "", err: "" };
  const decoders = { out: new TextDecoder(), err: new TextDecoder() };
  const exit = await runShell({
    line: tool.script,
    args: tool.args,
    cwd: "/",
    env: {
      ...Object.fromEntries(
        Object.entries(host.inherited.variables).filter(([name]) => INHERITED.includes(name)),
      ),
      ...(tool.taskId === undefined ? {} : { [TASK_MARK]: tool.taskId }),
      LC_ALL: "C",
      GIT_TERMINAL_PROMPT: "0",
    },
    umask: host.umask,
    timeoutMs: TIMEOUT_MS,
    graceMs: GRACE_MS,
    ...(tool.signal === undefined ? {} : { signal: tool.signal }),
    onOutput(stream, chunk) {
      const text = decoders[stream].decode(chunk, { stream: true });
      kept[stream] += text.slice(0, MAX_OUTPUT - kept[stream].length);
    },
  }, host);
  if (exit.endedFor === "timeout") {
    throw new AppError("invalid", `It took longer than ${TIMEOUT_MS / 60_000} minutes`);
  }
  return { code: exit.code, out: kept.out, err: host.secrets.redact(kept.err) };
}

/** What a tool said, in one line. */
export function whatItSaid({ code, err }: ToolResult): string {
  const lines = err.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  const [said = `exit code ${code}`] = lines.filter((line) =>
    /^(fatal|error|cp|mkdir)\b/.test(line)
  )
    .concat(lines);
  return said.replace(/^(fatal|error): /, "").slice(0, 300);
}
