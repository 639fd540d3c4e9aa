/**
 * A shell that runs one line after another as its child, in a process group that all of them share. So a
 * line needs no process that the daemon starts, no `setsid` and no pipes of its own
 * (docs/decisions/0009-process-groups.md).
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { MARK_START, NEVER, pooledShellScript } from "./pooled_script.ts";
import { Pump, type Sink } from "./pump.ts";

/** How a line in a pooled shell ended. */
export interface PooledEnd {
  /** Exit status; `undefined` if the line could not be started. */
  readonly code: number | undefined;
  /** Whether the shell can run another line; otherwise the shell has ended. */
  readonly isReusable: boolean;
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
    const [out, err] = this.#streams = [new MarkedStream(), new MarkedStream()];
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
        code: status === NEVER ? undefined : Number(status),
        isReusable: status !== NEVER,
      })),
      this.ended.then(({ code }) => ({ code, isReusable: false })),
    ]);
  }

  /** Ends the output of the line; throws the first error of its sinks. */
  async release(): Promise<void> {
    const failures = await Promise.all(this.#streams.map((stream) => stream.release()));
    const failure = failures.find((one) => one !== undefined);
    if (failure !== undefined) throw failure.error;
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

/** One of the two streams: hands the output of a line to its sink, up to the mark that ends the line. */
class MarkedStream {
  #mark: Buffer = Buffer.alloc(0);
  #sink: Sink | undefined;
  #end: ((status: string) => void) | undefined;
  /** The end of the output so far, if it may be the beginning of a mark. */
  #held: Buffer = Buffer.alloc(0);
  #failure: { readonly error: unknown } | undefined;

  /** Begins a line; resolves to the exit status in its mark. */
  begin(nonce: string, sink: Sink): Promise<string> {
    this.#mark = Buffer.from(`${MARK_START}${nonce} `);
    this.#sink = sink;
    this.#held = Buffer.alloc(0);
    this.#failure = undefined;
    return new Promise((resolve) => this.#end = resolve);
  }

  /** Ends the line, also one whose shell has ended without a mark; returns the failure of its sink. */
  async release(): Promise<{ readonly error: unknown } | undefined> {
    if (this.#held.length > 0) await this.#pass(this.#held);
    this.#held = Buffer.alloc(0);
    this.#sink = this.#end = undefined;
    return this.#failure;
  }

  async push(chunk: Uint8Array): Promise<void> {
    const fresh = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
    const all = this.#held.length === 0 ? fresh : Buffer.concat([this.#held, fresh]);
    const start = this.#end === undefined ? -1 : all.indexOf(this.#mark);
    const end = start === -1 ? -1 : all.indexOf("\n", start);
    const passed = start === -1 ? all.length - this.#beginningOfMark(all) : start;
    this.#held = end === -1 ? Buffer.from(all.subarray(passed)) : Buffer.alloc(0);
    if (passed > 0) await this.#pass(all.subarray(0, passed));
    if (end === -1) return;
    this.#end?.(all.toString("latin1", start + this.#mark.length, end));
    this.#end = undefined;
  }

  /** The number of bytes at the end of `all` that may be the beginning of a mark. */
  #beginningOfMark(all: Buffer): number {
    if (this.#end === undefined) return 0;
    const at = all.lastIndexOf(MARK_START);
    if (at === -1 || all.length - at > this.#mark.length) return 0;
    const tail = all.subarray(at);
    return this.#mark.subarray(0, tail.length).equals(tail) ? tail.length : 0;
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
}
