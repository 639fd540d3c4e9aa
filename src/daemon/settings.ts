/**
 * The settings of the daemon, REGISTRY of them all: the flags of `svc daemon` with their help, the
 * entries of `daemon.yaml`, the file that `svc init` writes and what `svc status` shows are made
 * from it.
 *
 * @module
 */

import { availableParallelism } from "node:os";
import { isCidr } from "../base/cidr.ts";
import { findDurationSecs } from "../base/duration.ts";
import { LOG_FORMATS, LOG_LEVELS } from "../base/log.ts";
import { SLACK_API_URL } from "../connections/slack/api.ts";
import { NAME_PATTERN } from "../resources/metadata.ts";
import { parseApiUrl, parseBind } from "./addresses.ts";

/** One setting. */
export interface Setting {
  /** Name in the file; with `--` before it, the flag. */
  readonly name: string;
  /** A path in the file starts at the data directory, one in a flag where the command is run. */
  readonly takes: "text" | "path" | "count" | "duration" | "list" | "switch";
  /** What its value is, in the help; a switch has none. */
  readonly placeholder?: string;
  /** One line. */
  readonly help: string;
  /** The default as it would be written; absent where there is none. */
  readonly fallback?: string;
  /** The default in words, where its value does not say enough or there is none. */
  readonly otherwise?: string;
  /** A value for the file of `svc init`, where there is no default to show. */
  readonly example?: string;
  /** Closed list of values. */
  readonly choices?: readonly string[];
  /** Least and largest value of a count. */
  readonly range?: readonly [number, number];
  /** Whether a count may be {@linkcode NONE}, which is no limit. */
  readonly orNone?: boolean;
  /** Form of a text, or of each one of a list: what it takes, and whether it is that. */
  readonly form?: { readonly takes: string; readonly fits: (text: string) => boolean };
}

/** Largest count where a setting names no other. */
const MOST = 1_000_000_000;

/** A name as manifests write it. */
const NAME = new RegExp(NAME_PATTERN);

/** Whether `parse` takes the text. */
const fits = (parse: (text: string) => unknown) => (text: string) => parse(text) !== "wrong";

/**
 * Shorter, and the database being away for a moment ends steps; longer, and tasks of a machine that
 * has died wait too long.
 */
function isLease(text: string): boolean {
  const secs = findDurationSecs(text);
  return secs !== undefined && secs >= 10 && secs <= 600;
}

/** Whether a text is a time limit, or says that there is none. */
function isLimit(text: string): boolean {
  return text === NONE || (findDurationSecs(text) ?? 0) > 0;
}

/** Says of every setting that takes it that there is none: no limit, no address. */
export const NONE = "none";

/** A round of the retention comes once a minute at most. */
function isTimeToKeep(text: string): boolean {
  const secs = findDurationSecs(text);
  return text === NONE || (secs !== undefined && secs >= 60);
}

/** All settings, in the order of the help and of the file. */
export const SETTINGS: readonly Setting[] = [
  {
    name: "webhook-bind",
    takes: "text",
    placeholder: "addr",
    help: "address of the webhook server: HOST:PORT, port 0 for any free one, or none",
    fallback: "127.0.0.1:19090",
    form: { takes: "HOST:PORT or none", fits: fits(parseBind) },
  },
  {
    name: "webhook-tls-cert",
    takes: "path",
    placeholder: "file",
    help: "serve webhooks over TLS: certificate, PEM",
    example: "/etc/svc/tls.crt",
  },
  {
    name: "webhook-tls-key",
    takes: "path",
    placeholder: "file",
    help: "its key, PEM; both files are read again when they change",
    example: "/etc/svc/tls.key",
  },
  {
    name: "trusted-proxy",
    takes: "list",
    placeholder: "cidr...",
    help: "proxies whose X-Forwarded-For and Forwarded headers are trusted",
    example: "[10.0.0.0/8]",
    form: { takes: "addresses or CIDR ranges", fits: isCidr },
  },
  {
    name: "workers",
    takes: "count",
    placeholder: "n",
    help: "tasks that run at once",
    fallback: String(Math.max(4, availableParallelism() * 2)),
    otherwise: "two per processor, at least 4",
    range: [1, 10_000],
  },
  {
    name: "step-timeout",
    takes: "duration",
    placeholder: "duration",
    help: "time limit of an attempt at a step if step, agent and workflow set none, or none",
    fallback: "1h",
    form: { takes: "a duration such as 90m, or none", fits: isLimit },
  },
  {
    name: "task-timeout",
    takes: "duration",
    placeholder: "duration",
    help: "time limit of a task if its workflow sets none; timeouts of its steps still apply; " +
      "or none",
    fallback: "6h",
    form: { takes: "a duration such as 12h, or none", fits: isLimit },
  },
  {
    name: "lease",
    takes: "duration",
    placeholder: "duration",
    help: "with a shared database: if it is silent for this long, others take over its tasks",
    fallback: "60s",
    form: { takes: "10s to 10m", fits: isLease },
  },
  {
    name: "node-labels",
    takes: "list",
    placeholder: "labels...",
    help: "with a shared database: labels by which, besides its name, a Workspace selects this " +
      "node",
    example: "[gpu]",
    form: { takes: "names such as gpu", fits: (text) => NAME.test(text) },
  },
  {
    name: "metrics",
    takes: "switch",
    help: "also serve GET /metrics at the webhook address, to everyone who can reach it",
  },
  {
    name: "max-body",
    takes: "count",
    placeholder: "bytes",
    help: "largest body of a request, in bytes",
    fallback: "26214400",
    range: [1, MOST],
  },
  {
    name: "max-inflight-bytes",
    takes: "count",
    placeholder: "bytes",
    help: "bytes of request bodies in memory at once; beyond that, svc answers 503",
    otherwise: "128 MiB; at least twice --max-body",
    example: "134217728",
    range: [1, MOST],
  },
  {
    name: "control-bind",
    takes: "text",
    placeholder: "addr",
    help: "also serve the control plane at HOST:PORT, over TLS, to bearers of tokens",
    example: "0.0.0.0:19443",
    form: { takes: "HOST:PORT or none", fits: fits(parseBind) },
  },
  {
    name: "control-tls-cert",
    takes: "path",
    placeholder: "file",
    help: "certificate for --control-bind, PEM",
    example: "/etc/svc/tls.crt",
  },
  {
    name: "control-tls-key",
    takes: "path",
    placeholder: "file",
    help: "key for --control-bind, PEM",
    example: "/etc/svc/tls.key",
  },
  {
    name: "plugin-root",
    takes: "path",
    placeholder: "dir",
    help: "where relative plugin commands start",
    otherwise: "the data directory",
    example: "/srv/svc-plugins",
  },
  {
    name: "step-env",
    takes: "list",
    placeholder: "names...",
    help: "environment variables that steps inherit, such as an agent's API key",
    example: "[ANTHROPIC_API_KEY, SSH_AUTH_SOCK, HTTPS_PROXY, NO_PROXY]",
  },
  {
    name: "max-step-log",
    takes: "count",
    placeholder: "bytes",
    help: "bytes of output kept of one step; a line in its log says where it was cut",
    otherwise: "64 MiB; 8 MiB in a database that daemons share",
    example: "67108864",
    range: [1, MOST],
  },
  {
    name: "keep-tasks-for",
    takes: "duration",
    placeholder: "duration",
    help: "how long ended tasks, their logs and deliveries are kept, such as 12h, or none",
    fallback: "30d",
    form: { takes: "1m to 36500d, or none", fits: isTimeToKeep },
  },
  {
    name: "keep-bodies-for",
    takes: "duration",
    placeholder: "duration",
    help: "how long bodies of deliveries and payloads of ended tasks are kept, or none",
    fallback: NONE,
    otherwise: "none: as long as those",
    form: { takes: "1m to 36500d, or none", fits: isTimeToKeep },
  },
  {
    name: "keep-tasks",
    takes: "count",
    placeholder: "n",
    help: "ended tasks kept for each trigger, or none for no limit",
    fallback: "10000",
    range: [1, MOST],
    orNone: true,
  },
  {
    name: "slack-api-url",
    takes: "text",
    placeholder: "url",
    help: "Slack's Web API, where answers are posted",
    fallback: SLACK_API_URL,
    form: { takes: "https://HOST/PATH", fits: fits(parseApiUrl) },
  },
  {
    name: "log-format",
    takes: "text",
    placeholder: "format",
    help: "format of the log",
    choices: LOG_FORMATS,
    fallback: "pretty",
  },
  {
    name: "log-level",
    takes: "text",
    placeholder: "level",
    help: "least severe level that is logged",
    choices: LOG_LEVELS,
    fallback: "info",
  },
];

/** The value of a setting as the file has it. */
export type SettingValue = string | number | boolean | readonly string[];

/** A setting as a daemon has it. */
export interface EffectiveSetting {
  readonly name: string;
  /** `null` where there is none. */
  readonly value: SettingValue | null;
  readonly source: "default" | "file" | "flag";
}

/** The value of the default; `null` where there is none. */
export function defaultOf({ takes, fallback }: Setting): SettingValue | null {
  if (takes === "switch") return false;
  if (takes === "list") return [];
  if (fallback === undefined) return null;
  return takes === "count" ? Number(fallback) : fallback;
}

/** What is wrong with a text, as the end of a sentence that begins with the name; if anything. */
export function findWrong({ form, takes }: Setting, text: string): string | undefined {
  const parts = takes === "list" ? text.split(",") : [text];
  const bad = form === undefined ? undefined : parts.find((part) => !form.fits(part));
  return bad === undefined ? undefined : `takes ${form?.takes}, not "${bad}"`;
}
