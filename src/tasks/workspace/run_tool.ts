/**
 * Runs a program of the machine for svc itself (git, cp, rm): a fixed shell script whose arguments
 * are `"$1"`, `"$2"`, …, in an environment in which no program prompts for input.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { findShortageIn } from "../../base/shortage.ts";
import type { KnownSecrets } from "../../secrets/known_secrets.ts";
import type { ProcessGroups } from "../../shell/process_groups.ts";
import { runShell } from "../../shell/run_shell.ts";
import { type InheritedEnv, TASK_MARK } from "../step/inherited_env.ts";

/** The parts of the daemon that run a tool. */
export interface ToolHost {
  readonly clock: Clock;
  readonly groups: ProcessGroups;
  /** Hides secrets in the output: addresses hold them, and hooks of a repository print anything. */
  readonly secrets: KnownSecrets;
  /** The variables that steps inherit; the tool gets a few of them. */
  readonly inherited: InheritedEnv;
  /** File mode mask of steps, which use the files that the tool makes. */
  readonly umask: number;
}

/** A script with its arguments. */
export interface Tool {
  readonly script: string;
  /** The values of `$1`, `$2` and so on. */
  readonly args: readonly string[];
  /** Ends the tool; its work then counts as failed. */
  readonly signal?: AbortSignal | undefined;
  /** The task for which it runs: after a crash it is ended together with the task's processes. */
  readonly taskId?: string | undefined;
  /** Longest time it may take; half an hour when absent. */
  readonly timeoutMs?: number;
}

/** The result of a tool that has ended. */
export interface ToolResult {
  readonly code: number;
  /** The beginning of standard output. */
  readonly out: string;
  /** The beginning of standard error. */
  readonly err: string;
}

/**
 * Variables for the configuration of git and ssh, for temporary files and for connections. Most of them
 * are set only if the daemon's `step-env` names them.
 */
const INHERITED =
  /^(PATH|HOME|USER|TMPDIR|XDG_CONFIG_HOME|SSH_AUTH_SOCK|GIT_SSH_COMMAND|GIT_SSL_CAINFO|SSL_CERT_(FILE|DIR)|(https?|all|no)_proxy)$/i;
/** Longest time of a tool: a checkout of a large repository takes minutes. */
const TIMEOUT_MS = 30 * 60_000;
const GRACE_MS = 2000;
/** Characters of each stream that are kept. */
const MAX_OUTPUT = 64 * 1024;

/**
 * Runs a tool to its end.
 *
 * @throws {AppError} `invalid` when it cannot be started or takes too long, `overloaded` when the
 * machine is short of something now.
 */
export async function runTool(tool: Tool, host: ToolHost): Promise<ToolResult> {
  const { timeoutMs = TIMEOUT_MS } = tool;
  const output = { out: "", err: "" };
  const decoders = { out: new TextDecoder(), err: new TextDecoder() };
  const exit = await runShell({
    line: tool.script,
    args: tool.args,
    cwd: "/",
    env: {
      ...Object.fromEntries(
        Object.entries(host.inherited.variables).filter(([name]) => INHERITED.test(name)),
      ),
      ...defined({ [TASK_MARK]: tool.taskId }),
      LC_ALL: "C",
      GIT_TERMINAL_PROMPT: "0",
    },
    umask: host.umask,
    timeoutMs,
    graceMs: GRACE_MS,
    ...defined({ signal: tool.signal }),
    onOutput(stream, chunk) {
      const text = decoders[stream].decode(chunk, { stream: true });
      output[stream] += text.slice(0, MAX_OUTPUT - output[stream].length);
    },
  }, host);
  if (exit.endedFor === "timeout") {
    throw new AppError("invalid", `It took longer than ${timeoutMs / 60_000} minutes`);
  }
  const shortage = exit.code === 0 ? undefined : findShortageIn(output.err);
  if (shortage !== undefined) throw new AppError("overloaded", shortage);
  return { code: exit.code, out: output.out, err: host.secrets.redact(output.err) };
}

/** The error message of a tool, as one line. */
export function toolError({ code, err }: ToolResult): string {
  const lines = err.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  const [message = `exit code ${code}`] = lines.filter((line) =>
    /^(fatal|error|cp|tar|mkdir)\b/.test(line)
  )
    .concat(lines);
  return message.replace(/^(fatal|error): /, "").slice(0, 300);
}
