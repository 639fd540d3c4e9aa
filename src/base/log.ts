/**
 * The daemon's log: one line per event on standard error, as JSON or for reading. Values are
 * written as JSON, so a line break or a terminal escape in one cannot forge another line.
 *
 * @module
 */

import { AppError, inOwnWords, messageOf } from "./errors.ts";
import { rfc3339, type WallClock } from "./clock.ts";
import { escapeHidden } from "./control_characters.ts";
import { toJson } from "./json.ts";

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

/** The log of a daemon. */
export interface DaemonLog extends Log {
  /** From now on every line goes through `redact`. */
  redactWith(redact: (line: string) => string): void;
}

/** How to make a {@linkcode DaemonLog}. */
export interface LogOptions {
  /** Least level that is written. */
  level: LogLevel;
  /** How a line looks. */
  format: LogFormat;
  /** Source of the time of each line. */
  clock: WallClock;
  /** Receives each line, without its line break. */
  write: (line: string) => void;
}

/** A log that writes one line per event through `options.write`. */
export function createLog(options: LogOptions): DaemonLog {
  let redact = (line: string) => line;
  const least = LOG_LEVELS.indexOf(options.level);
  const at = (level: LogLevel) => (message: string, fields: LogFields = {}) => {
    if (LOG_LEVELS.indexOf(level) < least) return;
    const facts = Object.entries(fields).map(([key, value]) => [key, plain(value)] as const);
    const time = rfc3339(options.clock.now());
    const line = options.format === "json"
      ? jsonLine({ time, level, message }, facts)
      : [time, level.toUpperCase().padEnd(5), message, ...facts.map(pretty)].join(" ");
    options.write(escapeHidden(redact(line))); // of which JSON leaves some as they are
  };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    redactWith: (given) => void (redact = given),
  };
}

type Fact = readonly [key: string, value: unknown];

/** Most errors of a cause chain that are shown; a chain can lead back to its beginning. */
const MAX_CAUSES = 8;

/** An error with its cause chain, which is for the operator and never leaves the machine. */
function plain(value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  let text = value instanceof AppError ? value.message : inOwnWords(value.stack ?? value.message);
  let { cause } = value;
  for (let depth = 0; cause !== undefined && depth < MAX_CAUSES; depth++) {
    text += ` (cause: ${messageOf(cause)})`;
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return text;
}

/** One JSON object; a fact named like a field of `head` stands under its name and `_`. */
function jsonLine(head: LogFields, facts: readonly Fact[]): string {
  const fields = [
    ...Object.entries(head),
    ...facts.map(([key, value]) => [Object.hasOwn(head, key) ? `${key}_` : key, value] as const),
  ];
  const written = fields.flatMap(([key, value]) =>
    value === undefined ? [] : [`${JSON.stringify(key)}:${json(value)}`]
  );
  return `{${written.join(",")}}`;
}

function pretty([key, value]: Fact): string {
  return `${key}=${typeof value === "string" && /^[\w./:@-]+$/.test(value) ? value : json(value)}`;
}

/** JSON of any value: a log line is written whatever is in it. */
function json(value: unknown): string {
  try {
    return toJson(value) ?? String(value);
  } catch {
    return JSON.stringify(`(${Object.prototype.toString.call(value)})`);
  }
}
