/**
 * From the options of a daemon to its configuration: every default filled in, every value checked.
 * Pure, so that nothing has been opened when an option is wrong.
 *
 * @module
 */

import { type Clock, systemClock } from "../base/clock.ts";
import type { DataDir } from "../base/data_dir.ts";
import { AppError } from "../base/errors.ts";
import type { DaemonLog } from "../base/log.ts";
import type { Attempt } from "../calls/call.ts";
import { LARGEST_BODIES_IN_BUDGET } from "../http/body_budget.ts";
import type { TlsFiles } from "../http/server/tls_files.ts";
import { secretsAmong } from "../secrets/own_secrets.ts";
import { type InheritedEnv, inheritEnv, PLUGIN_VARIABLES } from "../tasks/step/step_env.ts";
import type { DefaultLimits } from "../tasks/time_limits.ts";
import type { HostAndPort } from "./addresses.ts";
import type { EffectiveSetting } from "./settings.ts";

/** What options and configuration have in common. */
interface Settings {
  /** Data directory, created by `svc init`. */
  readonly dir: DataDir;
  /** Address of the webhook server; `undefined` when it is off. */
  readonly webhookBind: HostAndPort | undefined;
  /** Certificate of the webhook server; plain HTTP when absent. */
  readonly webhookTls?: TlsFiles;
  /** Proxies whose `X-Forwarded-For` is used, as CIDR ranges. */
  readonly trustedProxies: readonly string[];
  /** Address of the control plane beside its socket, always with TLS; none when absent. */
  readonly control?: { readonly on: HostAndPort; readonly tls: TlsFiles };
  /** Most tasks that run at the same time. */
  readonly workers: number;
  /** For how long its tasks are its own while nothing is heard of it; a minute when absent. */
  readonly leaseMs?: number;
  /** By which a Workspace may name this node, beside its name; none when absent. */
  readonly nodeLabels?: readonly string[];
  /** Most bytes that are kept of the output of one step; what the storage keeps when absent. */
  readonly maxStepLogBytes?: number;
  /** Largest body of a request, in bytes. */
  readonly maxBodyBytes: number;
  /** Directory in which relative plugin commands are resolved. */
  readonly pluginRoot: string;
  /** Base URL of Slack's Web API, without a slash at its end. */
  readonly slackApiUrl: string;
  /** Runs `svc` for scripts of plugins and steps. */
  readonly attempt: Attempt;
  /** File mode mask that steps run with. */
  readonly umask: number;
  readonly env: (name: string) => string | undefined;
  readonly log: DaemonLog;
}

/** How to run a daemon. */
export interface DaemonOptions extends Settings {
  /**
   * Most bytes of all bodies being received; when absent, 128 MiB or what the largest body needs.
   */
  readonly maxInflightBytes?: number;
  /** Whether the webhook server answers `GET /metrics`, without authentication; not when absent. */
  readonly metrics?: boolean;
  /** Milliseconds for which ended tasks are kept, 0 for ever; 30 days when absent. */
  readonly keepTasksMs?: number;
  /** Milliseconds for which bodies are kept; as long as their deliveries when 0 or absent. */
  readonly keepBodiesMs?: number;
  /** Ended tasks kept for each trigger, 0 for any number; 10,000 when absent. */
  readonly keepTasks?: number;
  /** How long tasks and steps may take that say nothing of it; no limit when absent. */
  readonly timeLimits?: DefaultLimits;
  /** Names of variables that steps inherit beside the usual ones. */
  readonly stepEnv: readonly string[];
  /** All variables of the daemon's process, to hide the secrets among them; none when absent. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Every setting as given, for `svc status`; none when absent. */
  readonly settings?: readonly EffectiveSetting[];
  /** The clock; the machine's own when absent. */
  readonly clock?: Clock;
}

/** The complete configuration of a daemon. */
export interface DaemonConfig extends Settings {
  /** Most bytes of all bodies being received. */
  readonly maxInflightBytes: number;
  /** Whether the webhook server answers `GET /metrics`. */
  readonly hasPublicMetrics: boolean;
  /** How long and how many ended tasks are kept, and how long bodies; 0 for no limit. */
  readonly keep: {
    readonly tasksMs: number;
    readonly bodiesMs: number;
    readonly perTrigger: number;
  };
  /** How long tasks and steps may take that say nothing of it. */
  readonly timeLimits: DefaultLimits;
  /** Environment that steps inherit. */
  readonly stepEnv: InheritedEnv;
  /** Environment that plugins and hooks inherit. */
  readonly pluginEnv: InheritedEnv;
  /** Secrets in the environment of the daemon or of steps. */
  readonly ownSecrets: readonly string[];
  /** Whether traces are enabled, by the environment variable of Deno's OpenTelemetry support. */
  readonly wantsTraces: boolean;
  /** Every setting as given, for `svc status`. */
  readonly settings: readonly EffectiveSetting[];
  readonly clock: Clock;
}

/** Default of the most bytes of bodies being received. */
const MAX_INFLIGHT_BYTES = 128 * 1024 * 1024;

/** Default of how long ended tasks are kept. */
const KEEP_TASKS_MS = 30 * 24 * 3600 * 1000;

/**
 * The configuration of a daemon with these options.
 *
 * @throws {AppError} `usage` when two values contradict each other.
 */
export function toConfig(options: DaemonOptions): DaemonConfig {
  const { dir, env, clock = systemClock } = options;
  const { keepTasksMs = KEEP_TASKS_MS, keepBodiesMs = 0, keepTasks = 10_000 } = options;
  const named = options.stepEnv.flatMap((name) => {
    const value = env(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    ...options,
    clock,
    settings: options.settings ?? [],
    maxInflightBytes: inflightBytes(options),
    hasPublicMetrics: options.metrics === true,
    keep: { tasksMs: keepTasksMs, bodiesMs: keepBodiesMs, perTrigger: keepTasks },
    timeLimits: options.timeLimits ?? {},
    stepEnv: inheritEnv(env, { bin: dir.bin, extra: options.stepEnv }),
    pluginEnv: inheritEnv(env, { bin: dir.bin, extra: [] }, PLUGIN_VARIABLES),
    ownSecrets: secretsAmong(
      { ...options.environment, ...Object.fromEntries(named) },
      options.stepEnv,
    ),
    wantsTraces: /^(1|true)$/.test(env("OTEL_DENO") ?? ""),
  };
}

/** Size of the body budget, in which the largest body fits. */
function inflightBytes({ maxBodyBytes, maxInflightBytes }: DaemonOptions): number {
  const needed = maxBodyBytes * LARGEST_BODIES_IN_BUDGET;
  if (maxInflightBytes === undefined) return Math.max(MAX_INFLIGHT_BYTES, needed);
  if (maxInflightBytes >= needed) return maxInflightBytes;
  throw new AppError(
    "usage",
    `--max-inflight-bytes must be ${LARGEST_BODIES_IN_BUDGET} times --max-body or more, ${needed} here`,
  );
}
