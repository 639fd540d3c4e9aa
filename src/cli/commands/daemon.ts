/**
 * `svc daemon`, which is also all of `svcd`: starts the daemon with its settings, and ends it on
 * signals.
 *
 * @module
 */

import { camelCase } from "../../base/camel_case.ts";
import { systemClock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { AppError, messageOf } from "../../base/errors.ts";
import { createLog } from "../../base/log.ts";
import type { SettingValue } from "../../daemon/setting_type.ts";
import {
  type EffectiveSetting,
  faultsIn,
  type Setting,
  SETTINGS,
  valuesOf,
} from "../../daemon/settings.ts";
import { URL_VARIABLE } from "../../storage/shared_database.ts";
import { attemptWith } from "../attempt.ts";
import { type Command, type CommandContext, DATA_DIR, defineCommand } from "../command.ts";
import { type OptionDefinition, wholeNumber } from "../option.ts";

/** Longest time an orderly end may take before the process ends anyway. */
const STOP_WITHIN_MS = 14_000;

export const command: Command = defineCommand({
  help: "Runs the daemon in the foreground until SIGTERM or SIGINT; a second signal stops it at " +
    "once. Options that you leave out come from daemon.yaml in the data directory, under the " +
    "same names without the dashes.",
  options: [DATA_DIR, ...SETTINGS.map(toOption)],
  examples: [
    "svc daemon",
    "svc daemon --webhook-bind 127.0.0.1:0 --workers 8",
    "svc daemon --step-env ANTHROPIC_API_KEY GITHUB_TOKEN",
  ],
  async run(context, program) {
    const umask = Deno.umask(0o077); // first of all: everything made from here on is private
    const { io } = context;
    const environment = io.environment();
    // it may hold a password, and no process that the daemon starts needs it
    io.unset(URL_VARIABLE);
    const dir = context.dir();
    const { readSettingsFile } = await import("../../daemon/settings_file.ts");
    const given = givenSettings(context.options, readSettingsFile(dir.settings, dir.root));
    const settings = valuesOf(new Map([...given].map(([name, { value }]) => [name, value])));
    const log = createLog({
      level: settings.logLevel,
      format: settings.logFormat,
      clock: systemClock,
      write: (line) => ignoringFailures(() => io.err(`${line}\n`)),
    });
    const { startDaemon } = await import("../../daemon.ts");
    const daemon = await startDaemon({
      dir,
      umask,
      log,
      attempt: attemptWith(program),
      env: (name) => environment[name],
      environment,
      settings,
      effectiveSettings: SETTINGS.map((setting) => effective(setting, given)),
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
});

/**
 * The daemon must not end because its output cannot be written: the reader may have gone, or the
 * disk of the log may be full.
 */
function ignoringFailures(write: () => void): void {
  try {
    write();
  } catch {
    // there is no place left to report it
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

/**
 * The flag of a setting. Its default is only in the help, because the settings file may have
 * another value.
 */
function toOption(
  { name, placeholder, help, fallback, fallbackText, type: { kind, choices } }: Setting,
): OptionDefinition {
  const hasDefault = fallback !== undefined && kind !== "switch" && kind !== "list";
  const shown = fallbackText ?? (hasDefault ? String(fallback) : undefined);
  return {
    flags: placeholder === undefined ? `--${name}` : `--${name} <${placeholder}>`,
    help: shown === undefined ? help : `${help} (default: ${shown})`,
    ...defined({ choices }),
  };
}

/** The values of the flags of the settings, by their names in camelCase. */
type Flags = Readonly<Record<string, unknown>>;

/** A setting that is set by a flag or in the file. */
interface GivenSetting {
  readonly value: SettingValue;
  readonly source: "flag" | "file";
}

/**
 * The settings that are set by a flag or else in the file, by name.
 *
 * @throws {AppError} `usage` for a flag that is wrong.
 */
function givenSettings(
  flags: Flags,
  file: ReadonlyMap<string, SettingValue>,
): ReadonlyMap<string, GivenSetting> {
  const given = new Map<string, GivenSetting>();
  for (const setting of SETTINGS) {
    const { name } = setting;
    const ofFlag = flagValue(setting, flags);
    const ofFile = file.get(name);
    if (ofFlag !== undefined) given.set(name, { value: ofFlag, source: "flag" });
    else if (ofFile !== undefined) given.set(name, { value: ofFile, source: "file" });
  }
  return given;
}

/** A setting as `svc status` shows it. */
function effective(
  { name, fallback }: Setting,
  given: ReadonlyMap<string, GivenSetting>,
): EffectiveSetting {
  return { name, ...given.get(name) ?? { value: fallback ?? null, source: "default" } };
}

/** The value of a flag in the form of the settings file; `undefined` if it was not given. */
function flagValue(setting: Setting, flags: Flags): SettingValue | undefined {
  const { name, type: { kind } } = setting;
  const given = flags[camelCase(name)];
  if (kind === "switch") return given === true ? true : undefined;
  const texts = Array.isArray(given) ? given.map(String) : typeof given === "string" ? [given] : [];
  const [text] = texts;
  if (text === undefined) return undefined;
  const value = kind === "list" ? texts : kind === "count" ? wholeNumber(text) ?? text : text;
  const [wrong] = faultsIn(setting, value);
  if (wrong !== undefined) throw new AppError("usage", `--${name} ${wrong}`);
  return value;
}
