/**
 * Passes the terminal to commands: standard streams, environment, and the abilities of the
 * terminal. It is the only door to the streams, so that no text from outside can control the
 * terminal.
 *
 * @module
 */

import { type Address, type Client, connect } from "../api/client.ts";
import { escapeInLines, spellInLines } from "../base/control_characters.ts";
import { AppError, messageOf } from "../base/errors.ts";
import { SafeText } from "./terminal_text.ts";

/** Where a command reads and writes. */
export interface Io {
  /**
   * Writes to standard output. To a terminal, invisible characters are spelled out, so that JSON stays
   * JSON with the same values; everywhere else the output is exact.
   *
   * @throws {OutputClosed} when the reader of the output has gone.
   */
  out(data: string | Uint8Array | SafeText): void;
  /** Writes to standard error, which is for people: invisible characters are always spelled out. */
  err(text: string | SafeText): void;
  /** The bytes of standard input. */
  stdin(): ReadableStream<Uint8Array>;
  /** Opens a file that the command line names; fails as the runtime does. */
  openFile(path: string): Promise<ReadableStream<Uint8Array>>;
  /** A client of a daemon; `token` authenticates the caller. */
  connect(address: Address, token?: string): Client;
  /** Whether a person types standard input. */
  readonly inIsTerminal: boolean;
  /** A line that is typed without being shown; `undefined` when it was broken off. */
  hiddenLine(prompt: string): string | undefined;
  env(name: string): string | undefined;
  /** Whether standard output is a terminal. */
  readonly outIsTerminal: boolean;
  /** Whether standard error may be coloured. */
  readonly errColor: boolean;
  /** Columns of the terminal, or $COLUMNS there; `undefined` when output goes elsewhere. */
  readonly columns: number | undefined;
  environment(): Record<string, string>;
  /**
   * Takes a variable out of the environment. On Linux, processes of the same user still find it in
   * `/proc/PID/environ`, which shows the environment that a process began with.
   */
  unset(name: string): void;
  /** Runs `handler` on these signals, SIGINT and SIGTERM when absent, until disposed. */
  onStop(handler: (signal: Deno.Signal) => void, signals?: readonly Deno.Signal[]): Disposable;
}

/** The reader of the output has gone, as in `svc get task | head`. */
export class OutputClosed extends Error {
  /** Name of the class, also in a bundle. */
  override readonly name = "OutputClosed";
}

const ENCODER = new TextEncoder();

/** Takes bytes, some or all of them. */
export interface ByteSink {
  /** Says how many it has taken. */
  writeSync(data: Uint8Array): number;
}

/** The two writers over two streams. */
export function writers(
  { stdout, stderr, outIsTerminal }: {
    stdout: ByteSink;
    stderr: ByteSink;
    outIsTerminal: boolean;
  },
): Pick<Io, "out" | "err"> {
  return {
    out: (data) => writeAll(stdout, outIsTerminal ? visible(data, escapeInLines) : exact(data)),
    err: (text) => writeAll(stderr, visible(text, spellInLines)),
  };
}

function exact(data: string | Uint8Array | SafeText): Uint8Array {
  if (data instanceof Uint8Array) return data;
  return ENCODER.encode(data instanceof SafeText ? data.text : data);
}

function visible(
  data: string | Uint8Array | SafeText,
  spell: (text: string) => string,
): Uint8Array {
  if (data instanceof SafeText) return exact(data);
  const text = typeof data === "string" ? data : new TextDecoder().decode(data);
  return ENCODER.encode(spell(text));
}

/** The process's own terminal. */
export function terminal(): Io {
  const outIsTerminal = Deno.stdout.isTerminal();
  const plain = (Deno.env.get("NO_COLOR") ?? "") !== "";
  return {
    ...writers({ stdout: Deno.stdout, stderr: Deno.stderr, outIsTerminal }),
    stdin: () => Deno.stdin.readable,
    openFile: async (path) => (await Deno.open(path)).readable,
    connect,
    inIsTerminal: Deno.stdin.isTerminal(),
    hiddenLine,
    env: (name) => Deno.env.get(name),
    environment: () => Deno.env.toObject(),
    unset: (name) => Deno.env.delete(name),
    outIsTerminal,
    errColor: !plain && Deno.stderr.isTerminal(),
    columns: outIsTerminal ? columnsAskedFor() ?? consoleColumns() : undefined,
    onStop(handler, signals = ["SIGINT", "SIGTERM"]) {
      const listeners = signals.map((signal) => ({ signal, listener: () => handler(signal) }));
      for (const { signal, listener } of listeners) Deno.addSignalListener(signal, listener);
      return {
        [Symbol.dispose]() {
          for (const { signal, listener } of listeners) Deno.removeSignalListener(signal, listener);
        },
      };
    },
  };
}

function writeAll(stream: ByteSink, data: Uint8Array): void {
  try {
    for (let done = 0; done < data.length;) done += stream.writeSync(data.subarray(done));
  } catch (error) {
    if (!(error instanceof Deno.errors.BrokenPipe)) {
      const message = `The output cannot be written: ${messageOf(error)}`;
      throw new AppError("refused", message, { cause: error });
    }
    throw new OutputClosed();
  }
}

/** Keys that do something else than write a character, by the byte the terminal sends. */
const KEY = { breakOff: 0x03, end: 0x04, backspace: 0x08, enter: 0x0d, clear: 0x15, delete: 0x7f };

/** The terminal is raw meanwhile, so it shows nothing and every key arrives here. */
function hiddenLine(prompt: string): string | undefined {
  Deno.stdin.setRaw(true);
  try {
    writeAll(Deno.stderr, visible(prompt, spellInLines));
    const typed: string[] = [];
    const decoder = new TextDecoder();
    const chunk = new Uint8Array(4096);
    for (;;) {
      const length = Deno.stdin.readSync(chunk);
      if (length === null) return undefined;
      for (const character of decoder.decode(chunk.subarray(0, length), { stream: true })) {
        const key = character.charCodeAt(0);
        if (key === KEY.enter || key === 0x0a) return typed.join("");
        if (key === KEY.breakOff || key === KEY.end) return undefined;
        if (key === KEY.clear) typed.length = 0;
        else if (key === KEY.backspace || key === KEY.delete) typed.pop();
        else typed.push(character);
      }
    }
  } finally {
    Deno.stdin.setRaw(false);
    writeAll(Deno.stderr, ENCODER.encode("\n"));
  }
}

/** $COLUMNS, which overrules the terminal as it does for `ls`. */
function columnsAskedFor(): number | undefined {
  const text = Deno.env.get("COLUMNS") ?? "";
  return /^[1-9][0-9]{0,4}$/.test(text) ? Number(text) : undefined;
}

function consoleColumns(): number | undefined {
  try {
    return Deno.consoleSize().columns;
  } catch {
    return undefined;
  }
}

/** Whether what is printed may have colours: on a terminal, unless `NO_COLOR` is set. */
export function isColoured(io: Pick<Io, "outIsTerminal" | "env">): boolean {
  return io.outIsTerminal && (io.env("NO_COLOR") ?? "") === "";
}
