/**
 * The daemon's log: one line per event on standard error, as JSON or for reading. Values are
 * written as JSON, so a line break or a terminal escape in one cannot forge another line.
 *
 * @module
 */

import { AppError, messageOf } from "./errors.ts";
import { type Clock, rfc3339 } from "./clock.ts";

/** How much is written; each level includes those after it. */
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
/** One of {@linkcode LOG_LEVELS}. */
export type LogLevel = typeof LOG_LEVELS[number];

/** How lines look. */
export const LOG_FORMATS = ["pretty", "json"] as const;
/** One of {@linkcode LOG_FORMATS}. */
export type LogFormat = typeof LOG_FORMATS[number];

/** Facts of one event; keys are snake_case. Never put a secret here. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Where events are written to. */
export interface Log {
  /** Something only a developer wants to see. */
  debug(message: string, fields?: LogFields): void;
  /** Something normal that an operator may want to see. */
  info(message: string, fields?: LogFields): void;
  /** Something an operator should look at. */
  warn(message: string, fields?: LogFields): void;
  /** Something that failed; pass what was thrown as `error`. */
  error(message: string, fields?: LogFields): void;
}

/** How to make a {@linkcode Log}. */
export interface LogOptions {
  /** Least level that is written. */
  level: LogLevel;
  /** How a line looks. */
  format: LogFormat;
  /** Source of the time of each line. */
  clock: Clock;
  /** Receives each line, without its line break. */
  write: (line: string) => void;
}

/** A log that writes one line per event through `options.write`. */
export function createLog(options: LogOptions): Log {
  const least = LOG_LEVELS.indexOf(options.level);
  const at = (level: LogLevel) => (message: string, fields: LogFields = {}) => {
    if (LOG_LEVELS.indexOf(level) < least) return;
    const facts = Object.entries(fields).map(([key, value]) => [key, plain(value)] as const);
    const time = rfc3339(options.clock.now());
    options.write(
      options.format === "json"
        ? JSON.stringify({ time, level, message, ...Object.fromEntries(facts) })
        : [time, level.toUpperCase().padEnd(5), message, ...facts.map(pretty)].join(" "),
    );
  };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** An error with its cause chain, which is for the operator and never leaves the machine. */
function plain(value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  const own = value instanceof AppError ? value.message : value.stack ?? value.message;
  return value.cause === undefined ? own : `${own} (cause: ${messageOf(value.cause)})`;
}

function pretty([key, value]: readonly [string, unknown]): string {
  return `${key}=${
    typeof value === "string" && /^[\w./:@-]+$/.test(value) ? value : JSON.stringify(value)
  }`;
}
