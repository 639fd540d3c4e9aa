/**
 * The only way to run a plugin or a hook: the policy decides, an audit row is written, the shell
 * runs, the row is finished. No plugin runs without a row.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import { concatBytes, findText } from "../base/bytes.ts";
import type { Core } from "../base/core.ts";
import type { DataDir } from "../base/data_dir.ts";
import { defined } from "../base/defined.ts";
import { AppError, findNotNow, messageOf } from "../base/errors.ts";
import type { RuntimeDirectory } from "../base/runtime_directory.ts";
import type { RuntimeFiles } from "../base/runtime_files.ts";
import type { NewId } from "../base/ids.ts";
import type { KnownSecrets } from "../secrets/known_secrets.ts";
import { Capture } from "../shell/capture.ts";
import type { ProcessGroups } from "../shell/process_groups.ts";
import { type OutputStream, runShell, type ShellExit } from "../shell/run_shell.ts";
import type { AuditEnd, AuditStart } from "../store/audit_records.ts";
import type { AuditRecorder } from "../store/audit_store.ts";
import type { Semaphore } from "./semaphore.ts";
import { type PolicyCheck, warnOfViolation } from "./policy/policy_check.ts";
import type { Grant, RunTokens } from "../auth/run_tokens.ts";

/** The parts of the daemon with which plugins run. */
export interface PluginHost extends Core {
  readonly store: AuditRecorder;
  /** Decides whether a command may run, by the policy file as it is at that time. */
  readonly policy: PolicyCheck;
  readonly semaphore: Semaphore;
  /** Hides secrets that the run may have been given in its output. */
  readonly secrets: KnownSecrets;
  readonly tokens: RunTokens;
  readonly groups: ProcessGroups;
  readonly newId: NewId;
  readonly dirs: DataDir;
  /** Holds the files with the input of plugins. */
  readonly runtime: RuntimeDirectory;
  /** Directory that relative commands start from. */
  readonly pluginRoot: string;
  /** File mode mask of plugins. */
  readonly umask: number;
  /** Most bytes a transformer may print. */
  readonly maxPayloadBytes: number;
  /** Counts the failures of each plugin; not counted when absent. */
  readonly failures?: {
    readonly ended: (run: PluginRun, result: PluginResult, audit: string) => void;
  };
  /** Variables of every plugin: PATH, HOME, LANG, TZ. */
  readonly inherited: Readonly<Record<string, string>>;
}

/** One run of a plugin or hook. `trigger` and `deliveryId` are empty outside the pipeline. */
export interface PluginRun {
  /** Kind of the CRD that it belongs to. */
  readonly crdKind: string;
  /** Name of the plugin; for a hook `hook:create` and so on. */
  readonly name: string;
  readonly type: "interceptor" | "transformer" | "cron" | "hook";
  /** Phase of the pipeline; empty outside the pipeline. */
  readonly phase: string;
  readonly command: string;
  /** Time limit of its own in seconds. */
  readonly timeout?: number;
  /** Project whose secrets it may read. */
  readonly project: string;
  readonly trigger: string;
  readonly deliveryId: string;
  /** Variables that the process gets beside those of every plugin. */
  readonly env: Readonly<Record<string, string>>;
  /** Standard input, and the content of the file that `fileVariable` names. */
  readonly input?: Uint8Array;
  /** Variable for the path of a file with `input`. */
  readonly fileVariable?: string;
  /** Most bytes of standard output; more is a failure. */
  readonly maxOutputBytes: number;
}

/** Result of a run. */
export interface PluginResult {
  /** As in the audit row. */
  readonly result: "ok" | "rejected" | "failed" | "timeout" | "denied";
  /** One sentence for the operator; empty after a success. */
  readonly reason: string;
  readonly output: Uint8Array;
  /**
   * Whether nothing ran: the shell found no such command, or could not execute it, or no shell
   * started.
   */
  readonly isNotRun?: boolean;
}

/** Exit codes of a shell that cannot execute a command, or does not find it. */
const NOT_RUN: readonly number[] = [126, 127];

/** Time limit of a plugin that has none of its own. */
const DEFAULT_TIMEOUT_SECS = 5;
/** Bytes of standard error that are kept. */
const MAX_STDERR = 8 * 1024;
/** Time between TERM and KILL, short because the plugin has exceeded its time already. */
const GRACE_MS = 500;
/** Variable that marks every process of a run, whatever its group. */
export const RUN_MARK = "SVC_RUN_ID";

/**
 * Runs a plugin to its end. Its failure is a result, not an error.
 *
 * @throws {AppError} `overloaded` when there is no room, the machine is short of what it needs, or its
 * row cannot be written.
 */
export async function runPlugin(run: PluginRun, host: PluginHost): Promise<PluginResult> {
  const id = host.newId();
  const result = await runAudited(run, id, host);
  host.failures?.ended(run, result, id);
  return result;
}

async function runAudited(run: PluginRun, id: string, host: PluginHost): Promise<PluginResult> {
  const decision = host.policy(run, "run");
  const start: AuditStart = {
    id,
    createdAt: host.clock.now(),
    action: "execute",
    crdKind: run.crdKind,
    pluginName: run.name,
    command: run.command,
    pluginType: run.type,
    phase: run.phase,
    trigger: run.trigger,
    deliveryId: run.deliveryId,
    role: "system",
    policyMode: decision.mode,
  };
  if (decision.verdict === "denied") {
    const end = { result: "denied", finishedAt: start.createdAt, stderr: decision.reason } as const;
    await host.store.recordAudit([{ start, end }]);
    return {
      result: "denied",
      reason: `blocked by the policy: ${decision.reason}`,
      output: new Uint8Array(),
    };
  }
  if (decision.verdict === "audit_warning") {
    warnOfViolation(host.log, { ...run, when: "run", reason: decision.reason });
  }
  const timeoutSecs = Math.min(run.timeout ?? DEFAULT_TIMEOUT_SECS, decision.maxTimeoutSecs);
  return await host.semaphore.run(async (keepRoomFor) => {
    const began = { ...start, createdAt: host.clock.now() };
    const files = host.runtime.filesOf(`plugin-${start.id}`);
    // The result does not wait for leftover processes: mostly there are none, and looking takes time.
    const onLeft = (gone: Promise<void>) =>
      keepRoomFor(
        gone.catch((error) =>
          host.log.error("processes that a plugin left behind could not be ended", {
            audit: start.id,
            error,
          })
        ),
      );
    try {
      const row = host.store.startAudit(began);
      const [ran, stored] = await Promise.allSettled([
        execute(run, { host, id: start.id, timeoutSecs, row, files, onLeft }),
        row,
      ]);
      if (stored.status === "rejected") throw stored.reason;
      const finish = (end: EndedRun["end"]) => {
        const finishedAt = host.clock.now();
        const durationMs = finishedAt - began.createdAt;
        // This call comes before those for what follows from the result, so the store has the row
        // with those or before them.
        host.store.finishAudit(start.id, { ...end, finishedAt, durationMs }).catch((error) =>
          host.log.error("the end of a plugin's run could not be stored", {
            audit: start.id,
            error,
          })
        );
      };
      if (ran.status === "rejected") {
        finish({ result: "failed", stderr: host.secrets.redact(messageOf(ran.reason)) });
        throw ran.reason;
      }
      finish(ran.value.end);
      return ran.value.result;
    } finally {
      setImmediate(() => files[Symbol.asyncDispose]()); // after the store has received its calls
    }
  });
}

type EndedRun = { readonly end: Omit<AuditEnd, "finishedAt">; readonly result: PluginResult };

/**
 * Runs the plugin once its `row` is stored; the shell starts before that, and waits for the row.
 */
async function execute(
  run: PluginRun,
  { host, id, timeoutSecs, row, files, onLeft }: {
    host: PluginHost;
    id: string;
    timeoutSecs: number;
    row: Promise<void>;
    files: RuntimeFiles;
    onLeft: (gone: Promise<void>) => void;
  },
): Promise<EndedRun> {
  using _known = host.secrets.runBegins();
  const out = new Capture(run.maxOutputBytes);
  const err = new Capture(MAX_STDERR);
  try {
    // The row is sent to the store at the end of a turn, and starting a process blocks the thread.
    await new Promise((resolve) => setImmediate(resolve));
    const { fileVariable, input: content = new Uint8Array() } = run;
    const file = fileVariable === undefined
      ? undefined
      : { variable: fileVariable, path: await files.make("body", content) };
    using grant = host.tokens.issue({
      kind: grantKind(run),
      project: run.project,
      ...(file === undefined ? {} : { body: { path: file.path, content } }),
    });
    const exit = await runShell({
      line: run.command,
      cwd: host.pluginRoot,
      env: {
        ...host.inherited,
        SVC_DATA_DIR: host.dirs.root,
        SVC_PROJECT: run.project,
        SVC_RUN_TOKEN: grant.token,
        PLUGIN_NAME: run.name,
        PLUGIN_TYPE: run.type,
        CRD_KIND: run.crdKind,
        ...(run.trigger === ""
          ? {}
          : { SVC_TRIGGER: run.trigger, SVC_DELIVERY_ID: run.deliveryId }),
        ...run.env,
        ...(file === undefined ? {} : { [file.variable]: file.path }),
        [RUN_MARK]: id,
      },
      pool: `${run.project}/${run.crdKind}/${run.name}`,
      ...defined({ stdin: run.input, stdinFile: file?.path }),
      before: () => row,
      onLeft,
      umask: host.umask,
      timeoutMs: timeoutSecs * 1000,
      graceMs: GRACE_MS,
      onOutput: (stream: OutputStream, chunk) => (stream === "out" ? out : err).add(chunk),
    }, host);
    if (exit.endedFor !== undefined) await host.groups.endMarked(RUN_MARK, id);
    const stderr = toText(err, host.secrets);
    return judge(run, { exit, timeoutSecs, out, stderr });
  } catch (error) {
    if (error instanceof AppError && error.code !== "invalid") throw error;
    const notNow = findNotNow(error);
    if (notNow !== undefined) throw notNow;
    return failed(run, host.secrets.redact(messageOf(error)));
  }
}

/**
 * Standard error as text, secrets hidden. Called when the run is over, so that secrets that the run
 * itself made are known. Where the output was cut off, a secret whose rest is missing is removed,
 * too.
 */
function toText(capture: Capture, secrets: KnownSecrets): string {
  const bytes = capture.bytes();
  if (bytes.length === 0) return "";
  const redactor = secrets.redactor();
  const start = redactor.push(bytes);
  const shown = capture.overflowed ? start : concatBytes(start, redactor.flush());
  return findText(shown) ?? new TextDecoder().decode(shown);
}

function judge(
  run: PluginRun,
  { exit, timeoutSecs, out, stderr }: {
    exit: ShellExit;
    timeoutSecs: number;
    out: Capture;
    stderr: string;
  },
): EndedRun {
  const isNotRun = NOT_RUN.includes(exit.code);
  const ended = (result: PluginResult["result"], reason: string): EndedRun => ({
    end: { result, exitCode: exit.code, stderr },
    result: { result, reason, output: out.bytes(), isNotRun },
  });
  const name = `${run.type} "${run.name}"`;
  if (exit.endedFor === "timeout") {
    return ended("timeout", `${name} took longer than ${timeoutSecs} s`);
  }
  if (exit.code !== 0) {
    const how = exit.killedBy === undefined
      ? `exit code ${exit.code}`
      : `killed by ${exit.killedBy}`;
    const silent = run.type === "cron" ? ", and nothing on standard error" : "";
    const detail = stderr.trim() === "" ? silent : `: ${stderr.trim()}`;
    return ended(run.type === "interceptor" ? "rejected" : "failed", `${name}: ${how}${detail}`);
  }
  if (out.overflowed && run.type === "transformer") {
    return ended("failed", `${name} printed more than ${run.maxOutputBytes} bytes`);
  }
  return ended("ok", "");
}

function failed(run: PluginRun, why: string): EndedRun {
  const result = run.type === "interceptor" ? "rejected" : "failed";
  const reason = `${run.type} "${run.name}" could not run: ${why}`;
  const output = new Uint8Array();
  return { end: { result, stderr: why }, result: { result, reason, output, isNotRun: true } };
}

function grantKind(run: PluginRun): Grant["kind"] {
  return run.type === "cron" ? "cron" : "plugin";
}
