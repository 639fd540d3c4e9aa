/**
 * The settings of the daemon, REGISTRY of them all. From the definition of a setting come its flag
 * with its help, its entry in `daemon.yaml` and in the file that `svc init` writes, what `svc status`
 * shows, and the type of its value in {@linkcode SettingValues}.
 *
 * @module
 */

import { availableParallelism } from "node:os";
import { type CamelCase, camelCase } from "../base/camel_case.ts";
import { isCidr } from "../base/cidr.ts";
import { LOG_FORMATS, LOG_LEVELS } from "../base/log.ts";
import { NAME_PATTERN, REQUIRED_SANDBOXES, SLACK_API_URL } from "../resources/names.ts";
import { parseApiUrl, parseBind } from "./addresses.ts";
import {
  count,
  duration,
  itemsOf,
  list,
  oneOf,
  PATH,
  type SettingType,
  type SettingValue,
  SWITCH,
  text,
} from "./setting_type.ts";

/** The definition of a setting. */
export interface Setting {
  /** Name in the file; with `--` before it, the flag. */
  readonly name: string;
  readonly type: SettingType<unknown>;
  /** The word for its value in the help; a switch has none. */
  readonly placeholder?: string;
  readonly help: string;
  /** The default; absent where there is none. */
  readonly fallback?: SettingValue;
  /** The default in words, where its value does not say enough or there is none. */
  readonly fallbackText?: string;
  /** A value for the file of `svc init`, where there is no default to show. */
  readonly example?: string;
  /** Whether it also takes {@linkcode NONE}, which the daemon reads as `undefined`. */
  readonly orNone?: true;
}

/** The value that stands for no limit, or no address. */
export const NONE = "none";

/** Largest count where a setting names no other. */
const MOST = 1_000_000_000;

/** A name as manifests write it. */
const NAME = new RegExp(NAME_PATTERN);

const BIND = text("HOST:PORT or none", parseBind);

/** A time limit, kept as it is written: reasons of tasks that it ends repeat it. */
const limit = (example: string) =>
  duration({ takes: `a duration such as ${example}, or none`, least: 1 }, (_, written) => written);

/** In milliseconds. A round of the retention comes once a minute at most. */
const TIME_TO_KEEP = duration({ takes: "1m to 36500d, or none", least: 60 }, (secs) => secs * 1000);

/**
 * In milliseconds. With a shorter lease, a database that is away for a moment ends steps; with a
 * longer one, tasks of a machine that has died wait too long.
 */
const LEASE = duration({ takes: "10s to 10m", least: 10, most: 600 }, (secs) => secs * 1000);

/** All settings, in the order of the help and of the file. */
const DEFINITIONS = [
  {
    name: "webhook-bind",
    type: BIND,
    placeholder: "addr",
    help: "address of the webhook server: HOST:PORT, port 0 for any free one, or none",
    fallback: "127.0.0.1:19090",
    orNone: true,
  },
  {
    name: "webhook-tls-cert",
    type: PATH,
    placeholder: "file",
    help: "serve webhooks over TLS: certificate, PEM",
    example: "/etc/svc/tls.crt",
  },
  {
    name: "webhook-tls-key",
    type: PATH,
    placeholder: "file",
    help: "its key, PEM; both files are read again when they change",
    example: "/etc/svc/tls.key",
  },
  {
    name: "trusted-proxy",
    type: list("addresses or CIDR ranges", isCidr),
    placeholder: "cidr...",
    help: "proxies whose X-Forwarded-For and Forwarded headers are trusted",
    fallback: [],
    example: "[10.0.0.0/8]",
  },
  {
    name: "workers",
    type: count(1, 10_000),
    placeholder: "n",
    help: "tasks that run at once",
    fallback: Math.max(4, availableParallelism() * 2),
    fallbackText: "two per processor, at least 4",
  },
  {
    name: "step-timeout",
    type: limit("90m"),
    placeholder: "duration",
    help: "time limit of an attempt at a step if step, agent and workflow set none, or none",
    fallback: "1h",
    orNone: true,
  },
  {
    name: "task-timeout",
    type: limit("12h"),
    placeholder: "duration",
    help: "time limit of a task if its workflow sets none; timeouts of its steps still apply; " +
      "or none",
    fallback: "6h",
    orNone: true,
  },
  {
    name: "lease",
    type: LEASE,
    placeholder: "duration",
    help: "with a shared database: if it is silent for this long, others take over its tasks",
    fallback: "60s",
  },
  {
    name: "node-labels",
    type: list("names such as gpu", (label) => NAME.test(label)),
    placeholder: "labels...",
    help: "with a shared database: labels by which, besides its name, a Workspace selects this " +
      "node",
    fallback: [],
    example: "[gpu]",
  },
  {
    name: "metrics",
    type: SWITCH,
    help: "also serve GET /metrics at the webhook address, to everyone who can reach it",
    fallback: false,
  },
  {
    name: "max-body",
    type: count(1, MOST),
    placeholder: "bytes",
    help: "largest body of a request, in bytes",
    fallback: 26_214_400,
  },
  {
    name: "max-inflight-bytes",
    type: count(1, MOST),
    placeholder: "bytes",
    help: "bytes of request bodies in memory at once; beyond that, svc answers 503",
    fallbackText: "128 MiB; at least twice --max-body",
    example: "134217728",
  },
  {
    name: "control-bind",
    type: BIND,
    placeholder: "addr",
    help: "also serve the control plane at HOST:PORT, over TLS, to bearers of tokens",
    example: "0.0.0.0:19443",
    orNone: true,
  },
  {
    name: "control-tls-cert",
    type: PATH,
    placeholder: "file",
    help: "certificate for --control-bind, PEM",
    example: "/etc/svc/tls.crt",
  },
  {
    name: "control-tls-key",
    type: PATH,
    placeholder: "file",
    help: "key for --control-bind, PEM",
    example: "/etc/svc/tls.key",
  },
  {
    name: "plugin-root",
    type: PATH,
    placeholder: "dir",
    help: "where relative plugin commands start",
    fallbackText: "the data directory",
    example: "/srv/svc-plugins",
  },
  {
    name: "step-env",
    type: list("names"),
    placeholder: "names...",
    help: "environment variables that steps inherit, such as an agent's API key",
    fallback: [],
    example: "[ANTHROPIC_API_KEY, SSH_AUTH_SOCK, HTTPS_PROXY, NO_PROXY]",
  },
  {
    name: "require-sandbox",
    type: oneOf(REQUIRED_SANDBOXES),
    placeholder: "which",
    help:
      "steps that run in a sandbox or not at all: agents (workflows with an agent), all, or none",
    fallback: "none",
  },
  {
    name: "max-step-log",
    type: count(1, MOST),
    placeholder: "bytes",
    help: "bytes of output kept of one step; a line in its log says where it was cut",
    fallbackText: "64 MiB; 8 MiB in a database that daemons share",
    example: "67108864",
  },
  {
    name: "keep-tasks-for",
    type: TIME_TO_KEEP,
    placeholder: "duration",
    help: "how long ended tasks, their logs and deliveries are kept, such as 12h, or none",
    fallback: "30d",
    orNone: true,
  },
  {
    name: "keep-bodies-for",
    type: TIME_TO_KEEP,
    placeholder: "duration",
    help: "how long bodies of deliveries and payloads of ended tasks are kept, or none",
    fallback: NONE,
    fallbackText: "none: as long as those",
    orNone: true,
  },
  {
    name: "keep-tasks",
    type: count(1, MOST),
    placeholder: "n",
    help: "ended tasks kept for each trigger, or none for no limit",
    fallback: 10_000,
    orNone: true,
  },
  {
    name: "slack-api-url",
    type: text("https://HOST/PATH", parseApiUrl),
    placeholder: "url",
    help: "Slack's Web API, where answers are posted",
    fallback: SLACK_API_URL,
  },
  {
    name: "log-format",
    type: oneOf(LOG_FORMATS),
    placeholder: "format",
    help: "format of the log",
    fallback: "pretty",
  },
  {
    name: "log-level",
    type: oneOf(LOG_LEVELS),
    placeholder: "level",
    help: "least severe level that is logged",
    fallback: "info",
  },
] as const satisfies readonly Setting[];

/** All settings, in the order of the help and of the file. */
export const SETTINGS: readonly Setting[] = DEFINITIONS;

/** The values of all settings as a daemon reads them, by their names in camelCase. */
export type SettingValues = {
  readonly [Definition in typeof DEFINITIONS[number] as CamelCase<Definition["name"]>]: ValueOf<
    Definition
  >;
};

type ValueOf<Definition extends Setting> =
  | (Definition["type"] extends SettingType<infer Value> ? Value : never)
  | (Definition extends { orNone: true } ? undefined : never)
  | (Definition extends { fallback: SettingValue } ? never : undefined);

/** A setting as a daemon has it. */
export interface EffectiveSetting {
  readonly name: string;
  /** As the file would have it; `null` where there is none. */
  readonly value: SettingValue | null;
  readonly source: "default" | "file" | "flag";
}

/** The faults of a value, each as the end of a sentence that begins with the name. */
export function faultsIn({ type, orNone }: Setting, written: SettingValue): readonly string[] {
  if (orNone === true && written === NONE) return [];
  const parts = type.kind === "list" ? itemsOf(written).map((item) => [item]) : [written];
  return parts.filter((part) => type.parse(part) === undefined)
    .map((part) => `takes ${type.takes}, not "${part}"`);
}

/** The values that a daemon reads from what a flag or the file gives, which {@linkcode faultsIn} has checked. */
export function valuesOf(given: ReadonlyMap<string, SettingValue>): SettingValues {
  const values = SETTINGS.map(({ name, type, fallback, orNone }) => {
    const value = given.get(name) ?? fallback;
    const isNone = value === undefined || (orNone === true && value === NONE);
    return [camelCase(name), isNone ? undefined : type.parse(value)];
  });
  return Object.fromEntries(values) as SettingValues;
}
