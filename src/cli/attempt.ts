/**
 * Runs the command of a call in the daemon. If the command reads a variable or standard input that
 * the daemon does not know, the attempt ends, the caller is asked for it, and the next attempt has
 * it. If the command needs anything else of the caller, such as a terminal, the program runs
 * instead. Operations are carried out once, however many attempts there are
 * (`calls/control_answers.ts`).
 *
 * @module
 */

import { type Address, type Client, connect } from "../api/client.ts";
import type { GivenFile } from "../auth/run_tokens.ts";
import { equalBytes } from "../base/bytes.ts";
import type { DataDir } from "../base/data_dir.ts";
import { RegularFile } from "../base/regular_file.ts";
import type { Attempt, Call, OutputChunk } from "../calls/call.ts";
import { type Program } from "./command.ts";
import { type Io, OutputClosed, writers } from "./io.ts";

/** Most bytes that a command may write. */
const MAX_WRITTEN = 1024 * 1024;
/** Largest file that is read for a command. */
const MAX_FILE_BYTES = 256 * 1024;

/** Makes attempts with the commands of a program. */
export function attemptWith({ run, isServed }: Program): Attempt {
  return async (call, dirs) => {
    if (!isServed(call.args)) return { unserved: true };
    const attempt = new AttemptRun(call, dirs);
    let code: number;
    try {
      code = await run(call.args, attempt.io);
    } catch {
      attempt.unserved = true; // a bug, which the program will report
      code = 1;
    }
    if (attempt.unserved) return { unserved: true };
    if (attempt.missing.size > 0) return { variables: [...attempt.missing] };
    if (attempt.wantsInput) return { input: true };
    return { output: { chunks: attempt.chunks, code } };
  };
}

/** Variables that a shell sets for itself, whether or not it was given them. */
const OF_SHELLS =
  /^(_|IFS|PS[0-9]|PPID|OPT(ARG|IND|ERR)|(OLD)?PWD|LINENO|SHLVL|RANDOM|SECONDS|E?UID|GROUPS|(HOST|MACH|OS)TYPE|HOSTNAME|SHELLOPTS|DIRSTACK|PIPESTATUS|FUNCNAME|TERM|PATH|POSIXLY_CORRECT|BASH.*|svc_.*)$/;

/** One attempt: the `Io` that the command gets, and what the command did with it. */
class AttemptRun {
  readonly chunks: OutputChunk[] = [];
  readonly missing = new Set<string>();
  wantsInput = false;
  unserved = false;
  readonly io: Io;
  readonly #call: Call;
  readonly #dirs: DataDir;
  #written = 0;

  constructor(call: Call, dirs: DataDir) {
    this.#call = call;
    this.#dirs = dirs;
    const refuse = () => this.#refuse();
    const sink = (to: OutputChunk["to"]) => ({
      writeSync: (data: Uint8Array) => this.#write(to, data),
    });
    this.io = {
      ...writers({ stdout: sink("out"), stderr: sink("err"), outIsTerminal: false }),
      stdin: () => this.#stdin(),
      openFile: (path) => Promise.resolve(this.#open(path)),
      env: (name) => this.#variable(name),
      connect: (address, token) => this.#connect(address, token),
      inIsTerminal: false,
      outIsTerminal: false,
      errColor: false,
      columns: undefined,
      hiddenLine: refuse,
      environment: refuse,
      unset: refuse,
      onStop: refuse,
    };
  }

  /**
   * Ends the attempt, because only the program can do what the command asks for. A command ends
   * without a message on `OutputClosed`.
   */
  #refuse(): never {
    this.unserved = true;
    throw new OutputClosed();
  }

  /** Whether the attempt has no result, because something has to be asked for first. */
  get #isVoid(): boolean {
    return this.unserved || this.wantsInput || this.missing.size > 0;
  }

  #write(to: OutputChunk["to"], data: Uint8Array): number {
    this.#written += data.length;
    if (this.#written > MAX_WRITTEN) this.#refuse();
    this.chunks.push({ to, bytes: data });
    return data.length;
  }

  #stdin(): ReadableStream<Uint8Array> {
    if (this.#call.input !== undefined) return ReadableStream.from([this.#call.input]);
    this.wantsInput = true;
    throw new OutputClosed();
  }

  #open(path: string): ReadableStream<Uint8Array> {
    const bytes = readGivenFile(path, this.#call.run.body);
    return bytes === undefined ? this.#refuse() : ReadableStream.from([bytes]);
  }

  /** A variable that the call does not know yet counts as not set until the end of the attempt. */
  #variable(name: string): string | undefined {
    const { variables, token } = this.#call;
    // `bin/svc` makes calls only if the variables have these values.
    if (name === "SVC_RUN_TOKEN") return token;
    if (name === "SVC_DATA_DIR") return this.#dirs.root;
    if (name === "SVC_SERVER" || name === "SVC_TOKEN") return undefined;
    if (variables.has(name)) return variables.get(name);
    if (!/^[A-Za-z_][A-Za-z0-9_]{0,99}$/.test(name) || OF_SHELLS.test(name)) this.#refuse();
    this.missing.add(name);
    return undefined;
  }

  #connect(address: Address, token: string | undefined): Client {
    const own = "socket" in address && address.socket === this.#dirs.socket;
    if (!own || token !== this.#call.token) this.#refuse();
    return connect({ answer: (request) => this.#answer(request) }, token);
  }

  async #answer(request: Request): Promise<Response> {
    if (this.#isVoid) throw new OutputClosed();
    const { answers, input } = this.#call;
    return await answers.ask(request, input !== undefined) ?? this.#refuse();
  }
}

/**
 * Reads the only file that the daemon reads for a caller: the one that it gave to the caller's run.
 * Returns `undefined` for any other path, and if the content is no longer that of `own`: so a caller
 * that puts another file in its place learns nothing that it does not know.
 */
export function readGivenFile(path: string, own: GivenFile | undefined): Uint8Array | undefined {
  if (own === undefined || path !== own.path || own.content.length > MAX_FILE_BYTES) {
    return undefined;
  }
  try {
    using file = RegularFile.open(path, { noLink: true });
    const content = new Uint8Array(own.content.length);
    const isWhole = file.facts.size === content.length && file.readSync(content) === content.length;
    return isWhole && equalBytes(content, own.content) ? content : undefined;
  } catch {
    return undefined;
  }
}
