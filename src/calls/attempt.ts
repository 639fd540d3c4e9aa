/**
 * Runs the command of a call in the daemon, once. What the command touches that the daemon does not
 * know ends the attempt: it is asked for, and the next attempt has it; or the program runs instead.
 * Operations are carried out once, however many attempts there are.
 *
 * @module
 */

import { type Address, type Client, connect } from "../api/client.ts";
import { findOperation } from "../api/operations.ts";
import type { Grant } from "../auth/run_tokens.ts";
import type { DataDir } from "../base/data_dir.ts";
import { type Io, OutputClosed, writers } from "../cli/io.ts";
import { runCli, servedByDaemon } from "../cli/run.ts";
import { readGivenFile } from "./given_file.ts";

/** A call, and what its caller has said so far. */
export interface Call {
  readonly args: readonly string[];
  readonly run: Grant;
  readonly token: string;
  /** By name; `undefined` for one that is not set. */
  readonly variables: Map<string, string | undefined>;
  /** Standard input, once it has been asked for. */
  input?: Uint8Array | undefined;
  /** Answers of the control plane, by what was asked. */
  readonly answers: Map<string, Promise<Kept>>;
}

/** An answer of the control plane. */
interface Kept {
  readonly status: number;
  /** Says whether it is a refusal of the daemon. */
  readonly headers: Headers;
  readonly text: string;
}

/** What a command wrote, in order, and its exit code. */
export interface Answered {
  readonly writes: readonly Written[];
  readonly code: number;
}

/** One write. */
export interface Written {
  readonly to: "out" | "err";
  readonly bytes: Uint8Array;
}

/** How an attempt ended. */
export type Attempt =
  | { readonly answer: Answered }
  /** Only the program can do this. */
  | { readonly unserved: true }
  /** Values of these are needed. */
  | { readonly variables: readonly string[] }
  | { readonly input: true };

/** Answers a request to the control plane. */
export type AnswerControl = (request: Request) => Promise<Response>;

/** What an attempt needs. */
export interface AttemptHost {
  readonly dirs: DataDir;
  readonly answer: AnswerControl;
}

/** Longest answer of the control plane that is made a text of here, in characters. */
const MAX_ANSWER = 256 * 1024;
/** Most bytes that a command may write. */
const MAX_WRITTEN = 1024 * 1024;

/** Carries the command out, as far as it can be. Its failures are answers. */
export async function attempt(call: Call, host: AttemptHost): Promise<Attempt> {
  if (!servedByDaemon(call.args)) return { unserved: true };
  const tried = new Tried(call, host);
  let code: number;
  try {
    code = await runCli(call.args, tried.io);
  } catch {
    tried.unserved = true; // a fault, which the program will show
    code = 1;
  }
  if (tried.unserved) return { unserved: true };
  if (tried.missing.size > 0) return { variables: [...tried.missing] };
  if (tried.wantsInput) return { input: true };
  return { answer: { writes: tried.writes, code } };
}

/** Variables that a shell sets for itself, whether or not it was given them. */
const OF_SHELLS =
  /^(_|IFS|PS[0-9]|PPID|OPT(ARG|IND|ERR)|(OLD)?PWD|LINENO|SHLVL|RANDOM|SECONDS|E?UID|GROUPS|(HOST|MACH|OS)TYPE|HOSTNAME|SHELLOPTS|DIRSTACK|PIPESTATUS|FUNCNAME|TERM|PATH|POSIXLY_CORRECT|BASH.*|svc_.*)$/;

/** One attempt: the terminal that the command sees, and what it did with it. */
class Tried {
  readonly writes: Written[] = [];
  readonly missing = new Set<string>();
  wantsInput = false;
  unserved = false;
  readonly io: Io;
  readonly #call: Call;
  readonly #host: AttemptHost;
  #written = 0;

  constructor(call: Call, host: AttemptHost) {
    this.#call = call;
    this.#host = host;
    const refuse = () => this.#refuse();
    const sink = (to: Written["to"]) => ({
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
   * Ends the attempt: only the program can do what the command wants. As if the reader of its output
   * had gone, a command that is ended so says nothing.
   */
  #refuse(): never {
    this.unserved = true;
    throw new OutputClosed();
  }

  /** Whether something has to be asked for before the attempt can mean anything. */
  get #over(): boolean {
    return this.unserved || this.wantsInput || this.missing.size > 0;
  }

  #write(to: Written["to"], data: Uint8Array): number {
    this.#written += data.length;
    if (this.#written > MAX_WRITTEN) this.#refuse();
    this.writes.push({ to, bytes: data });
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

  /** A variable that is not known counts as not set until the end of the attempt. */
  #variable(name: string): string | undefined {
    const { variables, token } = this.#call;
    // The caller has made sure of these before it called.
    if (name === "SVC_RUN_TOKEN") return token;
    if (name === "SVC_DATA_DIR") return this.#host.dirs.root;
    if (name === "SVC_SERVER" || name === "SVC_TOKEN") return undefined;
    if (variables.has(name)) return variables.get(name);
    if (!/^[A-Za-z_][A-Za-z0-9_]{0,99}$/.test(name) || OF_SHELLS.test(name)) this.#refuse();
    this.missing.add(name);
    return undefined;
  }

  #connect(address: Address, token: string | undefined): Client {
    const own = "socket" in address && address.socket === this.#host.dirs.socket;
    if (!own || token !== this.#call.token) this.#refuse();
    return connect({ answer: (request) => this.#answer(request) }, token);
  }

  /** Asks the control plane; what was asked before is not asked again. */
  async #answer(request: Request): Promise<Response> {
    if (this.#over) throw new OutputClosed();
    const name = new URL(request.url).pathname.split("/").at(-1) ?? "";
    const operation = findOperation(name);
    if (operation === undefined || operation.output.form === "lines") this.#refuse();
    // A caller that is killed while it writes leaves half an input, by which nothing may be changed.
    if (operation.role !== "read_only" && this.#call.input !== undefined) this.#refuse();
    const { answers } = this.#call;
    const asked = `${name} ${await request.clone().text()}`;
    const kept = answers.get(asked) ?? this.#host.answer(request).then(keep);
    answers.set(asked, kept);
    const { status, headers, text } = await kept;
    if (operation.role === "read_only" && text.length > MAX_ANSWER) this.#refuse();
    return new Response(text, { status, headers });
  }
}

async function keep(response: Response): Promise<Kept> {
  const { status, headers } = response;
  return { status, headers, text: await response.text() };
}
