/**
 * A shell that runs one line after another as its child, in a process group that all of them share. So a
 * line needs no process that the daemon starts, no `setsid` and no pipes of its own
 * (docs/decisions/0009-process-groups.md).
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { constants } from "node:os";
import { defined } from "../base/defined.ts";
import { MARK_START, NEVER, pooledShellScript, SAME } from "./pooled_script.ts";
import { Pump, type Sink } from "./pump.ts";

type Signal = keyof typeof constants.signals;

/** How a line in a pooled shell ended. */
export interface PooledEnd {
  /** Exit status; `undefined` if the line could not be started. */
  readonly code: number | undefined;
  /** The signal that ended the pooled shell itself. */
  readonly signal?: Deno.Signal;
  /** Whether the shell can run another line; otherwise the shell has ended. */
  readonly isReusable: boolean;
  /** Whether no process of the line can be left, in any group. */
  readonly leftNothing: boolean;
}

/** Receives the output of a line. */
export interface Sinks {
  readonly out: Sink;
  readonly err: Sink;
}

/** One shell. It runs a line at a time. */
export class PooledShell {
  readonly #child: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #streams: readonly [MarkedStream, MarkedStream];
  readonly pumps: readonly [Pump, Pump];
  /** When it was started, on the monotonic clock. */
  readonly bornAt: number;
  /** Resolves when the shell has ended. */
  readonly ended: Promise<Deno.CommandStatus>;
  isEnded = false;

  /** Starts a shell; `reaper` is the process that adopts orphans. Throws what `Deno.Command` throws. */
  constructor({ setsid, shell, reaper, bornAt }: {
    readonly setsid: string;
    readonly shell: string;
    readonly reaper: string;
    readonly bornAt: number;
  }) {
    this.bornAt = bornAt;
    this.#child = new Deno.Command(setsid, {
      args: [shell],
      cwd: "/",
      clearEnv: true,
      env: {},
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const [out, err] = this.#streams = [new MarkedStream(false), new MarkedStream(true)];
    this.pumps = [
      new Pump(this.#child.stdout, (chunk) => out.push(chunk)),
      new Pump(this.#child.stderr, (chunk) => err.push(chunk)),
    ];
    this.ended = this.#child.status.finally(() => this.isEnded = true);
    this.#writer = this.#child.stdin.getWriter();
    this.#write(pooledShellScript(reaper));
  }

  /** Process group of the shell and of its lines. */
  get group(): number {
    return this.#child.pid;
  }

  /** Runs the text of a line. Resolves when the line is over; what it left behind may still run. */
  async run(script: string, { out, err }: Sinks): Promise<PooledEnd> {
    // A new one each time: no process can know it, and a line cannot end another one.
    const nonce = crypto.randomUUID().replaceAll("-", "");
    const [ofOut, ofErr] = this.#streams;
    const marks = Promise.all([ofOut.begin(nonce, out), ofErr.begin(nonce, err)]);
    this.#write(`n=${nonce}; ${script}`);
    return await Promise.race([
      marks.then(([status]) => ({
        code: status === NEVER ? undefined : Number.parseInt(status),
        isReusable: status !== NEVER,
        leftNothing: status.endsWith(SAME),
      })),
      this.ended.then(({ code, signal }) => ({
        code,
        isReusable: false,
        leftNothing: false,
        ...defined({ signal: signal ?? undefined }),
      })),
    ]);
  }

  /**
   * Ends the output of the line.
   *
   * @returns The signal that ended the line's own shell, as the pooled shell has said it.
   * @throws The first error of the sinks.
   */
  async release({ code }: PooledEnd): Promise<Signal | undefined> {
    const failures = await Promise.all(this.#streams.map((stream) => stream.release(code)));
    const failure = failures.find((one) => one !== undefined);
    if (failure !== undefined) throw failure.error;
    return this.#streams[1].signal;
  }

  /** Has the shell end as soon as its line, if there is one, is over. */
  close(): void {
    this.#writer.close().catch(() => {});
  }

  #write(text: string): void {
    // Fails if the shell has ended, which `ended` tells.
    this.#writer.write(new TextEncoder().encode(text)).catch(() => {});
  }
}

/**
 * What dash prints on its standard error when a signal has ended its child, as the C library words it:
 * the only difference from a child that has exited with 128 + the number of the signal. It prints
 * nothing for INT and PIPE.
 */
const WORDS: Readonly<Partial<Record<Signal, string>>> = {
  SIGHUP: "Hangup",
  SIGINT: "",
  SIGQUIT: "Quit",
  SIGILL: "Illegal instruction",
  SIGTRAP: "Trace/breakpoint trap",
  SIGABRT: "Aborted",
  SIGBUS: "Bus error",
  SIGFPE: "Floating point exception",
  SIGKILL: "Killed",
  SIGUSR1: "User defined signal 1",
  SIGSEGV: "Segmentation fault",
  SIGUSR2: "User defined signal 2",
  SIGPIPE: "",
  SIGALRM: "Alarm clock",
  SIGTERM: "Terminated",
  SIGXCPU: "CPU time limit exceeded",
  SIGXFSZ: "File size limit exceeded",
  SIGVTALRM: "Virtual timer expired",
  SIGPROF: "Profiling timer expired",
  SIGSYS: "Bad system call",
};
/** The signals of `WORDS`, by the exit status that stands for them. */
const SIGNALS = new Map(
  (Object.keys(WORDS) as Signal[]).map((signal) => [128 + constants.signals[signal], signal]),
);
/**
 * The signal that ended a child of dash, by its exit status and by what dash said of it; `undefined` for
 * one that has exited with such a status itself.
 */
export function findSignal(code: number, said: string): string | undefined {
  const signal = SIGNALS.get(code);
  const word = signal === undefined ? "" : WORDS[signal];
  return word !== undefined && word !== "" && said.includes(word) ? signal : undefined;
}

/** Output that ends with one of these words. */
const ENDS_WITH_WORD = new RegExp(
  `(?:${Object.values(WORDS).filter((word) => word !== "").join("|")})(?: \\(core dumped\\))?\n$`,
);
/** Characters of the longest word and what may follow. */
const MAX_WORD = 48;

/**
 * One of the two streams: hands the output of a line to its sink, up to the mark that ends the line, and
 * without the word of the pooled shell before it.
 */
class MarkedStream {
  /** Whether the pooled shell prints words here. */
  readonly #hasWords: boolean;
  #mark: Buffer = Buffer.alloc(0);
  #sink: Sink | undefined;
  #end: ((status: string) => void) | undefined;
  /** The end of the output so far, if it may be the beginning of a mark, or the word before one. */
  #held: Buffer = Buffer.alloc(0);
  #failure: { readonly error: unknown } | undefined;
  /** The signal that the word before the mark names. */
  signal: Signal | undefined;

  constructor(hasWords: boolean) {
    this.#hasWords = hasWords;
  }

  /** Begins a line; resolves to the exit status in its mark. */
  begin(nonce: string, sink: Sink): Promise<string> {
    this.#mark = Buffer.from(`${MARK_START}${nonce} `);
    this.#sink = sink;
    this.#held = Buffer.alloc(0);
    this.#failure = this.signal = undefined;
    return new Promise((resolve) => this.#end = resolve);
  }

  /** Ends the line, also one whose shell has ended without a mark; returns the failure of its sink. */
  async release(code: number | undefined): Promise<{ readonly error: unknown } | undefined> {
    if (this.#held.length > 0) await this.#passLast(this.#held, code);
    this.#held = Buffer.alloc(0);
    this.#sink = this.#end = undefined;
    return this.#failure;
  }

  async push(chunk: Uint8Array): Promise<void> {
    const fresh = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
    const all = this.#held.length === 0 ? fresh : Buffer.concat([this.#held, fresh]);
    const start = this.#end === undefined ? -1 : all.indexOf(this.#mark);
    const end = start === -1 ? -1 : all.indexOf("\n", start);
    if (end === -1) {
      const passed = this.#end === undefined ? all.length : this.#certain(all, start);
      this.#held = Buffer.from(all.subarray(passed));
      if (passed > 0) await this.#pass(all.subarray(0, passed));
      return;
    }
    this.#held = Buffer.alloc(0);
    const status = all.toString("latin1", start + this.#mark.length, end);
    await this.#passLast(all.subarray(0, start), Number.parseInt(status));
    this.#end?.(status);
    this.#end = undefined;
  }

  /** The number of bytes before what may be a mark, or a beginning of one, with a word before it. */
  #certain(all: Buffer, start: number): number {
    let certain = start;
    if (start === -1) {
      const at = all.lastIndexOf(MARK_START);
      const tail = at === -1 ? 0 : all.length - at;
      const isMark = tail > 0 && tail <= this.#mark.length &&
        this.#mark.subarray(0, tail).equals(all.subarray(at));
      certain = isMark ? at : all.length;
    }
    return certain - this.#wordAtEnd(all.subarray(0, certain)).length;
  }

  /** Hands on the end of the output, without the word that goes with the exit status. */
  async #passLast(bytes: Buffer, code: number | undefined): Promise<void> {
    const signal = this.#hasWords ? SIGNALS.get(code ?? 0) : undefined;
    const word = signal === undefined ? "" : this.#wordAtEnd(bytes);
    const isItsWord = signal !== undefined && word.startsWith(WORDS[signal] ?? "");
    if (isItsWord) this.signal = signal;
    const length = bytes.length - (isItsWord && WORDS[signal] !== "" ? word.length : 0);
    if (length > 0) await this.#pass(bytes.subarray(0, length));
  }

  /** Hands output on. After a failure (a full disk) the rest is read nevertheless, and dropped. */
  async #pass(bytes: Buffer): Promise<void> {
    if (this.#failure !== undefined) return;
    try {
      await this.#sink?.(
        new Uint8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length),
      );
    } catch (error) {
      this.#failure = { error };
    }
  }

  /** The word of a signal that stands at the end; empty without one. */
  #wordAtEnd(bytes: Buffer): string {
    if (!this.#hasWords || bytes.at(-1) !== 0x0a) return "";
    const end = bytes.toString("latin1", Math.max(0, bytes.length - MAX_WORD));
    return ENDS_WITH_WORD.exec(end)?.[0] ?? "";
  }
}
