/**
 * The daemon's log: one line for each event on standard error, as JSON or for people. Values are written
 * as JSON, so a line break or a terminal escape in one cannot forge another line.
 *
 * @module
 */

import { AppError, inOwnWords, messageOf } from "./errors.ts";
import { rfc3339, type WallClock } from "./clock.ts";
import { escapeHidden } from "./control_characters.ts";
import { toJson } from "./json.ts";

/** The levels of a log; each includes the levels after it. */
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
/** One of {@linkcode LOG_LEVELS}. */
export type LogLevel = typeof LOG_LEVELS[number];

/** The forms of the lines. */
export const LOG_FORMATS = ["pretty", "json"] as const;
/** One of {@linkcode LOG_FORMATS}. */
export type LogFormat = typeof LOG_FORMATS[number];

/** The facts of an event; keys are in snake_case. They must not hold secrets. */
export type LogFields = Readonly<Record<string, unknown>>;

/** The log of the daemon, by levels. */
export interface Log {
  /** Writes an event that only developers of svc need. */
  debug(message: string, fields?: LogFields): void;
  /** A normal event that interests operators. */
  info(message: string, fields?: LogFields): void;
  /** An event that an operator should look at. */
  warn(message: string, fields?: LogFields): void;
  /** A failure; the thrown value goes into the field `error`. */
  error(message: string, fields?: LogFields): void;
}

/** The log of a daemon. */
export interface DaemonLog extends Log {
  /** Passes every line through `redact` from now on. */
  redactWith(redact: (line: string) => string): void;
}

/** The form of a {@linkcode DaemonLog} and its output. */
export interface LogOptions {
  /** Least level that is written. */
  level: LogLevel;
  format: LogFormat;
  /** The source of the time of each line. */
  clock: WallClock;
  /** Receives each line, without its line break. */
  write: (line: string) => void;
}

/** A log that writes a line for each event with `options.write`. */
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
    options.write(escapeHidden(redact(line))); // JSON does not escape all hidden characters
  };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    redactWith: (redactor) => void (redact = redactor),
  };
}

type Fact = readonly [key: string, value: unknown];

/** Most errors of a chain of causes that are shown; a chain can be a circle. */
const MAX_CAUSES = 8;

/** A value of a field; an error becomes a text with its causes, which only the operator may read. */
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

/** A line as one JSON object; a fact with the name of a field of `head` gets a `_` behind it. */
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

/** The JSON of any value: a line is written even if a value has no JSON. */
function json(value: unknown): string {
  try {
    return toJson(value) ?? String(value);
  } catch {
    return JSON.stringify(`(${Object.prototype.toString.call(value)})`);
  }
}
