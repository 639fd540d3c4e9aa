/**
 * `svc daemon`, and all of `svcd`: flags to a running daemon, signals to its end.
 *
 * @module
 */

import { resolve } from "node:path";
import { availableParallelism } from "node:os";
import { isCidr } from "../../base/cidr.ts";
import { systemClock } from "../../base/clock.ts";
import { AppError, messageOf } from "../../base/errors.ts";
import {
  createLog,
  LOG_FORMATS,
  LOG_LEVELS,
  type LogFormat,
  type LogLevel,
} from "../../base/log.ts";
import { startDaemon } from "../../daemon.ts";
import type { DaemonOptions, HostAndPort } from "../../daemon/config.ts";
import type { TlsFiles } from "../../http/server/tls_files.ts";
import { SLACK_API_URL } from "../../intake/slack/api.ts";
import { type Command, type CommandContext, DATA_DIR } from "../command.ts";

/** Longest time an orderly end may take before the process ends anyway. */
const STOP_WITHIN_MS = 14_000;

/** Runs the daemon in the foreground. */
export const command: Command = {
  help:
    "Runs the daemon in the foreground until SIGTERM or SIGINT; a second signal stops it at once.",
  options: [
    DATA_DIR,
    {
      flags: "--webhook-bind <addr>",
      help: "address of the webhook server: HOST:PORT, port 0 for any free one, or none",
      fallback: "127.0.0.1:19090",
    },
    { flags: "--webhook-tls-cert <file>", help: "serve webhooks over TLS: certificate, PEM" },
    {
      flags: "--webhook-tls-key <file>",
      help: "its key, PEM; both files are read again when they change",
    },
    {
      flags: "--trusted-proxy <cidr...>",
      help: "proxies whose X-Forwarded-For and Forwarded headers are trusted",
    },
    {
      flags: "--workers <n>",
      help: "tasks that run at once (default: two per processor, at least 4)",
    },
    {
      flags: "--metrics",
      help: "also serve GET /metrics at the webhook address, to everyone who can reach it",
    },
    {
      flags: "--max-body <bytes>",
      help: "largest body of a request, in bytes",
      fallback: "26214400",
    },
    {
      flags: "--max-inflight-bytes <bytes>",
      help:
        "bytes of request bodies in memory at once, beyond it the answer is 503 (default: 128 MiB; at least twice --max-body)",
    },
    {
      flags: "--control-bind <addr>",
      help: "also serve the control plane at HOST:PORT, over TLS, to bearers of tokens",
    },
    { flags: "--control-tls-cert <file>", help: "certificate for --control-bind, PEM" },
    { flags: "--control-tls-key <file>", help: "key for --control-bind, PEM" },
    {
      flags: "--plugin-root <dir>",
      help: "where relative plugin commands start (default: the data directory)",
    },
    {
      flags: "--step-env <names...>",
      help: "environment variables that steps inherit, such as an agent's API key",
    },
    {
      flags: "--keep-tasks-days <n>",
      help: "days for which ended tasks, their logs and deliveries are kept; 0 for no limit",
      fallback: "30",
    },
    {
      flags: "--keep-tasks <n>",
      help: "ended tasks kept for each trigger; 0 for no limit",
      fallback: "10000",
    },
    {
      flags: "--slack-api-url <url>",
      help: "Slack's Web API, where answers are posted",
      fallback: SLACK_API_URL,
    },
    {
      flags: "--log-format <format>",
      help: "format of the log",
      choices: LOG_FORMATS,
      fallback: "pretty",
    },
    {
      flags: "--log-level <level>",
      help: "least severe level that is logged",
      choices: LOG_LEVELS,
      fallback: "info",
    },
  ],
  examples: [
    "svc daemon",
    "svc daemon --webhook-bind 127.0.0.1:0 --workers 8",
    "svc daemon --step-env ANTHROPIC_API_KEY GITHUB_TOKEN",
  ],
  async run(context: CommandContext) {
    const umask = Deno.umask(0o077); // first of all: everything made from here on is private
    const { io } = context;
    const log = createLog({
      level: context.option("logLevel") as LogLevel,
      format: context.option("logFormat") as LogFormat,
      clock: systemClock,
      write: (line) => ignoringFailures(() => io.err(`${line}\n`)),
    });
    const dir = context.dir();
    const daemon = await startDaemon({
      dir,
      umask,
      log,
      env: io.env,
      webhookBind: parseBind("webhook-bind", context.option("webhookBind") ?? ""),
      ...optional("webhookTls", tlsFiles("webhook", context)),
      ...optional("control", controlAddress(context)),
      trustedProxies: trustedProxies(context),
      workers: context.count("workers", 1, 10_000) ?? Math.max(4, availableParallelism() * 2),
      maxBodyBytes: context.count("maxBody", 1) ?? 0,
      ...optional("maxInflightBytes", context.count("maxInflightBytes", 1)),
      metrics: context.flag("metrics"),
      pluginRoot: resolve(context.option("pluginRoot") ?? dir.root),
      slackApiUrl: parseApiUrl(context.option("slackApiUrl") ?? ""),
      stepEnv: context.list("stepEnv").flatMap((names) => names.split(",")),
      keepTasksDays: context.count("keepTasksDays", 0, 36_500) ?? 30,
      keepTasks: context.count("keepTasks", 0) ?? 10_000,
    });
    const where = daemon.webhookUrl === undefined
      ? "webhooks off"
      : `webhooks at ${daemon.webhookUrl}`;
    const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
    using _signals = io.onStop(() => stop());
    ignoringFailures(() => io.out(`svc is ready: ${where}, control socket ${dir.socket}\n`));
    const failure = await Promise.race([stopped, daemon.failed]);
    log.info("stopping");
    using _force = forceEnd(context);
    await daemon[Symbol.asyncDispose]();
    if (failure !== undefined) {
      throw new AppError(
        "internal",
        `The daemon stopped because of a fault: ${messageOf(failure)}`,
        {
          cause: failure,
        },
      );
    }
  },
};

/**
 * The daemon must not end because its output cannot be written: the reader may have gone, or the
 * disk of the log may be full.
 */
function ignoringFailures(write: () => void): void {
  try {
    write();
  } catch {
    // there is no place left to say it
  }
}

/** A second signal, or an end that takes too long, ends the process. */
function forceEnd(context: CommandContext): Disposable {
  const timer = systemClock.after(STOP_WITHIN_MS, () => {
    ignoringFailures(() => context.io.err("Stopping takes too long, exiting now\n"));
    Deno.exit(0);
  });
  const signals = context.io.onStop(() => Deno.exit(130));
  return {
    [Symbol.dispose]() {
      timer[Symbol.dispose]();
      signals[Symbol.dispose]();
    },
  };
}

function parseBind(flag: string, text: string): HostAndPort | undefined {
  if (text === "none") return undefined;
  const [, ipv6, name, port] =
    /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+)):([0-9]{1,5})$/.exec(text) ?? [];
  const hostname = ipv6 ?? name;
  if (hostname === undefined || Number(port) > 65_535) {
    throw new AppError("usage", `--${flag} takes HOST:PORT or none, not "${text}"`);
  }
  return { hostname, port: Number(port) };
}

const TLS_OPTIONS = {
  webhook: ["webhookTlsCert", "webhookTlsKey"],
  control: ["controlTlsCert", "controlTlsKey"],
} as const;

/** Certificate and key of a server; one without the other is a mistake. */
function tlsFiles(
  server: keyof typeof TLS_OPTIONS,
  context: CommandContext,
): TlsFiles | undefined {
  const [certFile, keyFile] = TLS_OPTIONS[server].map((name) => context.option(name));
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile !== undefined && keyFile !== undefined) return { certFile, keyFile };
  throw new AppError("usage", `--${server}-tls-cert and --${server}-tls-key go together`);
}

/** Tokens do not travel in the clear: no address without a certificate. */
function controlAddress(context: CommandContext): DaemonOptions["control"] {
  const on = parseBind("control-bind", context.option("controlBind") ?? "none");
  const tls = tlsFiles("control", context);
  if (on === undefined) return undefined;
  if (tls !== undefined) return { on, tls };
  throw new AppError("usage", "--control-bind needs --control-tls-cert and --control-tls-key");
}

function trustedProxies(context: CommandContext): readonly string[] {
  const ranges = context.list("trustedProxy").flatMap((texts) => texts.split(","));
  const bad = ranges.find((range) => !isCidr(range));
  if (bad === undefined) return ranges;
  throw new AppError("usage", `--trusted-proxy takes addresses or CIDR ranges, not "${bad}"`);
}

/** The token goes there: plain HTTP only to this machine itself. */
function parseApiUrl(text: string): string {
  const url = URL.parse(text);
  const local = ["127.0.0.1", "[::1]", "localhost"].includes(url?.hostname ?? "");
  const safe = url?.protocol === "https:" || (url?.protocol === "http:" && local);
  if (url === null || !safe || url.search !== "" || url.hash !== "" || url.username !== "") {
    throw new AppError("usage", `--slack-api-url takes https://HOST/PATH, not "${text}"`);
  }
  return text.replace(/\/+$/, "");
}

function optional<Name extends string, T>(
  name: Name,
  value: T | undefined,
): { [K in Name]?: T } {
  return value === undefined ? {} : { [name]: value } as { [K in Name]?: T };
}
