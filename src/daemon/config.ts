/**
 * From the options of a daemon to its configuration: the consequences of its settings and its
 * environment. Pure, so that nothing has been opened when two settings contradict each other.
 *
 * @module
 */

import { resolve } from "node:path";
import { type Clock, systemClock } from "../base/clock.ts";
import type { DataDir } from "../base/data_dir.ts";
import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import type { DaemonLog } from "../base/log.ts";
import type { Attempt } from "../calls/call.ts";
import { LARGEST_BODIES_IN_BUDGET } from "../http/body_budget.ts";
import type { TlsFiles } from "../http/server/tls_files.ts";
import { secretsAmong } from "../secrets/own_secrets.ts";
import type { RetentionLimits } from "../tasks/retention/retention_host.ts";
import { type InheritedEnv, inheritEnv, PLUGIN_VARIABLES } from "../tasks/step/inherited_env.ts";
import type { DefaultLimits } from "../tasks/time_limits.ts";
import { type HostAndPort, tlsFiles } from "./addresses.ts";
import type { EffectiveSetting, SettingValues } from "./settings.ts";

/** The settings that options and configuration share. */
interface CommonOptions {
  /** Data directory, created by `svc init`. */
  readonly dir: DataDir;
  readonly settings: SettingValues;
  /** Runs `svc` for scripts of plugins and steps. */
  readonly attempt: Attempt;
  /** File mode mask that steps run with. */
  readonly umask: number;
  readonly env: (name: string) => string | undefined;
  readonly log: DaemonLog;
}

/** How to run a daemon. */
export interface DaemonOptions extends CommonOptions {
  /** All variables of the daemon's process, to hide the secrets among them; none when absent. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Every setting as it was written, for `svc status`; none when absent. */
  readonly effectiveSettings?: readonly EffectiveSetting[];
  /** The clock; the machine's own when absent. */
  readonly clock?: Clock;
}

/** The complete configuration of a daemon. */
export interface DaemonConfig extends CommonOptions {
  readonly clock: Clock;
  readonly effectiveSettings: readonly EffectiveSetting[];
  /** Certificate of the webhook server; `undefined` for plain HTTP. */
  readonly webhookTls: TlsFiles | undefined;
  /** Address of the control plane beside its socket, always with TLS; `undefined` for none. */
  readonly control: { readonly on: HostAndPort; readonly tls: TlsFiles } | undefined;
  /** Most bytes of all bodies being received. */
  readonly maxInflightBytes: number;
  /** Directory in which relative plugin commands are resolved. */
  readonly pluginRoot: string;
  readonly keep: RetentionLimits;
  /** Time limits of tasks and steps whose manifests set none. */
  readonly timeLimits: DefaultLimits;
  /** Environment that steps inherit. */
  readonly stepEnv: InheritedEnv;
  /** Environment that plugins and hooks inherit. */
  readonly pluginEnv: InheritedEnv;
  /** Secrets in the environment of the daemon or of steps. */
  readonly ownSecrets: readonly string[];
  /** Whether traces are enabled, by the environment variable of Deno's OpenTelemetry support. */
  readonly wantsTraces: boolean;
}

/** Default of `max-inflight-bytes`; `inflightBytes` raises it if the largest bodies do not fit. */
const MAX_INFLIGHT_BYTES = 128 * 1024 * 1024;

/** How {@linkcode RetentionLimits} say that there is no limit. */
const NO_LIMIT = 0;

/**
 * The configuration of a daemon with these options.
 *
 * @throws {AppError} `usage` when two values contradict each other.
 */
export function toConfig(options: DaemonOptions): DaemonConfig {
  const { dir, settings, env, environment, clock = systemClock } = options;
  const inherited = settings.stepEnv.flatMap((name) => {
    const value = env(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    ...options,
    clock,
    effectiveSettings: options.effectiveSettings ?? [],
    webhookTls: tlsFiles("--webhook-tls", settings.webhookTlsCert, settings.webhookTlsKey),
    control: controlAddress(settings),
    maxInflightBytes: inflightBytes(settings),
    pluginRoot: resolve(settings.pluginRoot ?? dir.root),
    keep: {
      tasksMs: settings.keepTasksFor ?? NO_LIMIT,
      bodiesMs: settings.keepBodiesFor ?? NO_LIMIT,
      perTrigger: settings.keepTasks ?? NO_LIMIT,
    },
    timeLimits: defined({ step: settings.stepTimeout, task: settings.taskTimeout }),
    stepEnv: inheritEnv(env, { bin: dir.bin, extra: settings.stepEnv }),
    pluginEnv: inheritEnv(env, { bin: dir.bin, extra: [] }, PLUGIN_VARIABLES),
    ownSecrets: secretsAmong(
      { ...environment, ...Object.fromEntries(inherited) },
      settings.stepEnv,
    ),
    wantsTraces: /^(1|true)$/.test(env("OTEL_DENO") ?? ""),
  };
}

/** Tokens do not travel in the clear: no address without a certificate. */
function controlAddress(
  { controlBind: on, controlTlsCert, controlTlsKey }: SettingValues,
): DaemonConfig["control"] {
  const tls = tlsFiles("--control-tls", controlTlsCert, controlTlsKey);
  if (on === undefined) return undefined;
  if (tls !== undefined) return { on, tls };
  throw new AppError("usage", "--control-bind needs --control-tls-cert and --control-tls-key");
}

/** Size of the body budget: at least `LARGEST_BODIES_IN_BUDGET` bodies of `max-body`. */
function inflightBytes({ maxBody, maxInflightBytes }: SettingValues): number {
  const needed = maxBody * LARGEST_BODIES_IN_BUDGET;
  if (maxInflightBytes === undefined) return Math.max(MAX_INFLIGHT_BYTES, needed);
  if (maxInflightBytes >= needed) return maxInflightBytes;
  throw new AppError(
    "usage",
    `--max-inflight-bytes must be ${LARGEST_BODIES_IN_BUDGET} times --max-body or more, ${needed} here`,
  );
}
