/**
 * `svc daemon`, and all of `svcd`: flags to a running daemon, signals to its end.
 *
 * @module
 */

import { resolve } from "node:path";
import { systemClock } from "../../base/clock.ts";
import type { DataDir } from "../../base/data_dir.ts";
import { defined } from "../../base/defined.ts";
import { findDurationSecs } from "../../base/duration.ts";
import { AppError, messageOf } from "../../base/errors.ts";
import { createLog, type LogFormat, type LogLevel } from "../../base/log.ts";
import { startDaemon } from "../../daemon.ts";
import { type HostAndPort, parseApiUrl, parseBind } from "../../daemon/addresses.ts";
import type { DaemonOptions } from "../../daemon/config.ts";
import {
  defaultOf,
  type EffectiveSetting,
  findWrong,
  NONE,
  type Setting,
  SETTINGS,
} from "../../daemon/settings.ts";
import { readSettingsFile } from "../../daemon/settings_file.ts";
import type { TlsFiles } from "../../http/server/tls_files.ts";
import { URL_VARIABLE } from "../../storage/shared_database.ts";
import { attemptWith } from "../attempt.ts";
import {
  camelCase,
  type Command,
  type CommandContext,
  DATA_DIR,
  type OptionDefinition,
  type Program,
} from "../command.ts";

/** Longest time an orderly end may take before the process ends anyway. */
const STOP_WITHIN_MS = 14_000;

/** Runs the daemon in the foreground. */
export const command: Command = {
  help: "Runs the daemon in the foreground until SIGTERM or SIGINT; a second signal stops it at " +
    "once. Options that you leave out come from daemon.yaml in the data directory, under the " +
    "same names without the dashes.",
  options: [DATA_DIR, ...SETTINGS.map(toOption)],
  examples: [
    "svc daemon",
    "svc daemon --webhook-bind 127.0.0.1:0 --workers 8",
    "svc daemon --step-env ANTHROPIC_API_KEY GITHUB_TOKEN",
  ],
  async run(given: CommandContext, program: Program) {
    const umask = Deno.umask(0o077); // first of all: everything made from here on is private
    const { io } = given;
    const environment = io.environment();
    io.unset(URL_VARIABLE); // it may hold a password, and concerns nothing that is begun here
    const dir = given.dir();
    const settings = settle(given, dir);
    const context = given.withOptions(toOptions(settings));
    const log = createLog({
      level: context.option("logLevel") as LogLevel,
      format: context.option("logFormat") as LogFormat,
      clock: systemClock,
      write: (line) => ignoringFailures(() => io.err(`${line}\n`)),
    });
    const daemon = await startDaemon({
      dir,
      umask,
      log,
      attempt: attemptWith(program),
      env: (name) => environment[name],
      environment,
      settings,
      webhookBind: bindOf(context.option("webhookBind")),
      ...optional("webhookTls", tlsFiles("webhook", context)),
      ...optional("control", controlAddress(context)),
      trustedProxies: context.list("trustedProxy").flatMap((texts) => texts.split(",")),
      workers: context.count("workers", 1) ?? 1,
      leaseMs: milliseconds(context, "lease"),
      nodeLabels: context.list("nodeLabels").flatMap((labels) => labels.split(",")),
      maxBodyBytes: context.count("maxBody", 1) ?? 0,
      ...optional("maxInflightBytes", context.count("maxInflightBytes", 1)),
      metrics: context.flag("metrics"),
      pluginRoot: resolve(context.option("pluginRoot") ?? dir.root),
      slackApiUrl: parseApiUrl(context.option("slackApiUrl") ?? ""),
      stepEnv: context.list("stepEnv").flatMap((names) => names.split(",")),
      timeLimits: {
        ...optional("step", limitText(context.option("stepTimeout"))),
        ...optional("task", limitText(context.option("taskTimeout"))),
      },
      ...optional("maxStepLogBytes", context.count("maxStepLog", 1)),
      keepTasksMs: milliseconds(context, "keepTasksFor"),
      keepBodiesMs: milliseconds(context, "keepBodiesFor"),
      keepTasks: context.option("keepTasks") === NONE ? 0 : context.count("keepTasks", 1) ?? 0,
    });
    const { webhookUrl, controlUrl } = daemon;
    const where = [
      webhookUrl === undefined ? "webhooks off" : `webhooks at ${webhookUrl}`,
      `control socket ${dir.socket}`,
      ...controlUrl === undefined ? [] : [`control plane at ${controlUrl}`],
    ].join(", ");
    const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
    using _signals = io.onStop(() => stop());
    ignoringFailures(() => io.out(`svc is ready: ${where}\n`));
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

/** The value of a setting that takes a duration, which has been checked; 0 where it is none. */
function milliseconds(context: CommandContext, name: string): number {
  return 1000 * (findDurationSecs(context.option(name) ?? "") ?? 0);
}

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

/** The flag of a setting. Its default stands in the text only: the file may have another value. */
function toOption(
  { name, placeholder, help, fallback, otherwise, choices }: Setting,
): OptionDefinition {
  const fallbackText = otherwise ?? fallback;
  return {
    flags: placeholder === undefined ? `--${name}` : `--${name} <${placeholder}>`,
    help: fallbackText === undefined ? help : `${help} (default: ${fallbackText})`,
    ...defined({ choices }),
  };
}

/**
 * Every setting: from its flag, else from the file, else the default.
 *
 * @throws {AppError} `usage` for a flag and `invalid` for an entry of the file that is wrong.
 */
function settle(given: CommandContext, dir: DataDir): readonly EffectiveSetting[] {
  const file = readSettingsFile(dir.settings, dir.root);
  return SETTINGS.map((setting) => {
    const { name } = setting;
    const flag = flagValue(setting, given);
    if (flag !== undefined) return { name, value: flag, source: "flag" };
    const value = file.get(name);
    if (value !== undefined) return { name, value, source: "file" };
    return { name, value: defaultOf(setting), source: "default" };
  });
}

/** The value that a flag gives; `undefined` when it was not given. */
function flagValue(setting: Setting, given: CommandContext): EffectiveSetting["value"] | undefined {
  const name = camelCase(setting.name);
  const [least, most] = setting.range ?? [0];
  const texts = given.list(name);
  const wrong = texts.map((text) => findWrong(setting, text)).find((why) => why !== undefined);
  if (wrong !== undefined) throw new AppError("usage", `--${setting.name} ${wrong}`);
  switch (setting.takes) {
    case "switch":
      return given.flag(name) ? true : undefined;
    case "count":
      if (setting.orNone === true && given.option(name) === NONE) return NONE;
      return given.count(name, least, most);
    case "list":
      return texts.length === 0 ? undefined : texts;
    case "duration":
    case "text":
    case "path":
      return given.option(name);
  }
}

/** Settings as a command line would have given them. */
function toOptions(settings: readonly EffectiveSetting[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    settings.filter(({ value }) => value !== null)
      .map(({ name, value }) => [camelCase(name), typeof value === "number" ? `${value}` : value]),
  );
}

/** An address that has passed the check of its setting. */
function bindOf(text: string = NONE): HostAndPort | undefined {
  const on = parseBind(text);
  return on === "wrong" ? undefined : on;
}

/** A time limit as it was written; `undefined` where it says that there is none. */
function limitText(text: string = NONE): string | undefined {
  return text === NONE ? undefined : text;
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
  const on = bindOf(context.option("controlBind"));
  const tls = tlsFiles("control", context);
  if (on === undefined) return undefined;
  if (tls !== undefined) return { on, tls };
  throw new AppError("usage", "--control-bind needs --control-tls-cert and --control-tls-key");
}

function optional<Name extends string, T>(
  name: Name,
  value: T | undefined,
): { [K in Name]?: T } {
  return value === undefined ? {} : { [name]: value } as { [K in Name]?: T };
}
