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
import { LARGEST_BODIES_IN_BUDGET } from "../http/body_budget.ts";
import type { TlsFiles } from "../http/server/tls_files.ts";
import { type InheritedEnv, inheritEnv, PLUGIN_VARIABLES } from "../tasks/step/step_env.ts";

/** An address to listen on; port 0 takes any free one. */
export interface HostAndPort {
  readonly hostname: string;
  readonly port: number;
}

/** What options and configuration have in common. */
interface Settings {
  /** Data directory, made by `svc init`. */
  readonly dir: DataDir;
  /** Where webhooks are taken; `undefined` for nowhere. */
  readonly webhookBind: HostAndPort | undefined;
  /** Certificate of the webhook server; plain HTTP when absent. */
  readonly webhookTls?: TlsFiles;
  /** Proxies whose `X-Forwarded-For` is used, as CIDR ranges. */
  readonly trustedProxies: readonly string[];
  /** Where the control plane listens beside its socket, always with TLS; nowhere when absent. */
  readonly control?: { readonly on: HostAndPort; readonly tls: TlsFiles };
  /** Most tasks at once. */
  readonly workers: number;
  /** Largest body of a request, in bytes. */
  readonly maxBodyBytes: number;
  /** Where relative plugin commands start. */
  readonly pluginRoot: string;
  /** Base URL of Slack's Web API, without a slash at its end. */
  readonly slackApiUrl: string;
  /** File mode mask that steps run with. */
  readonly umask: number;
  readonly env: (name: string) => string | undefined;
  readonly log: DaemonLog;
}

/** How to run a daemon. */
export interface DaemonOptions extends Settings {
  /** Most bytes of bodies under way; 128 MiB when absent, or what the largest body needs. */
  readonly maxInflightBytes?: number;
  /**
   * Whether the webhook server answers `GET /metrics`, to anybody who can reach it; not when
   * absent.
   */
  readonly metrics?: boolean;
  /** Days for which ended tasks are kept, 0 for ever; 30 when absent. */
  readonly keepTasksDays?: number;
  /** Ended tasks kept of each trigger, 0 for any number; 10,000 when absent. */
  readonly keepTasks?: number;
  /** Names of variables that steps inherit beside the usual ones. */
  readonly stepEnv: readonly string[];
  /** The clock; the machine's own unless a test brings one. */
  readonly clock?: Clock;
}

/** How a daemon runs: nothing is left open. */
export interface DaemonConfig extends Settings {
  /** Most bytes of bodies under way. */
  readonly maxInflightBytes: number;
  /** Whether the webhook server answers `GET /metrics`. */
  readonly hasPublicMetrics: boolean;
  /** How long ended tasks are kept; 0 for ever, or for any number. */
  readonly keep: { readonly days: number; readonly perTrigger: number };
  /** What steps inherit. */
  readonly stepEnv: InheritedEnv;
  /** What plugins and hooks inherit. */
  readonly pluginEnv: InheritedEnv;
  /** Whether traces were asked for, by the variable of the OpenTelemetry support of Deno. */
  readonly wantsTraces: boolean;
  readonly clock: Clock;
}

/** Most bytes of bodies under way, where nothing else is said. */
const MAX_INFLIGHT_BYTES = 128 * 1024 * 1024;

/**
 * The configuration of a daemon with these options.
 *
 * @throws {AppError} `usage` when a value does not go with another one.
 */
export function toConfig(options: DaemonOptions): DaemonConfig {
  const { dir, env, clock = systemClock, keepTasksDays = 30, keepTasks = 10_000 } = options;
  return {
    ...options,
    clock,
    maxInflightBytes: inflightBytes(options),
    hasPublicMetrics: options.metrics === true,
    keep: { days: keepTasksDays, perTrigger: keepTasks },
    stepEnv: inheritEnv(env, { bin: dir.bin, extra: options.stepEnv }),
    pluginEnv: inheritEnv(env, { bin: dir.bin, extra: [] }, PLUGIN_VARIABLES),
    wantsTraces: /^(1|true)$/.test(env("OTEL_DENO") ?? ""),
  };
}

/** Room in which the largest body there may be can be taken. */
function inflightBytes({ maxBodyBytes, maxInflightBytes }: DaemonOptions): number {
  const needed = maxBodyBytes * LARGEST_BODIES_IN_BUDGET;
  if (maxInflightBytes === undefined) return Math.max(MAX_INFLIGHT_BYTES, needed);
  if (maxInflightBytes >= needed) return maxInflightBytes;
  throw new AppError(
    "usage",
    `--max-inflight-bytes has to be ${LARGEST_BODIES_IN_BUDGET} times --max-body or more, ${needed} here`,
  );
}
