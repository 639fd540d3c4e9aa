/**
 * A daemon as a process, on a free port and a data directory of its own. It ends with the test,
 * which fails unless it ends well.
 *
 * @module
 */

import { ok, strictEqual as equal } from "node:assert/strict";
import { type Client, connect } from "../../src/api/client.ts";
import type { Output } from "../../src/api/operations.ts";
import { dataDirAt } from "../../src/base/data_dir.ts";
import { AppError, messageOf } from "../../src/base/errors.ts";
import { type Manifest, toText } from "./manifests.ts";
import {
  cleanEnv,
  ONE_PROGRAM,
  type Program,
  run,
  type RunOptions,
  type RunResult,
  runSvc,
  svcdOf,
} from "./program.ts";
import { copyDatabase, createTestDatabase, type TestDatabase } from "./postgres.ts";
import { tempDir } from "./temp_dir.ts";
import { PATIENCE_MS, until } from "./until.ts";

/** After this long a daemon is ended by force: it does so itself after 14 s. */
const STOP_WITHIN_MS = PATIENCE_MS;

/** A data directory, made by `svc init`. */
export interface DataDirectory extends AsyncDisposable {
  /** Absolute path. */
  readonly path: string;
}

/** An answer, read to its end. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; empty where it is none. */
  readonly json: Record<string, unknown>;
}

/** A task as `svc get task -o json` shows it. */
export interface TaskRecord {
  readonly id: string;
  readonly project: string;
  readonly trigger: string;
  readonly state: string;
  readonly reason: string;
  readonly delivery_id: string;
  readonly restarts: number;
  readonly steps: readonly {
    id: string;
    state: string;
    exit_code: number | null;
    reason?: string;
    round?: number;
    outputs?: Record<string, string>;
  }[];
}

/** A request of a test. */
export interface Send {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array;
  /** Sends the body in chunks, without Content-Length. */
  readonly chunked?: boolean;
}

/** How to start a daemon. */
export interface DaemonOptions {
  /** Flags beside the address. */
  readonly args?: readonly string[];
  /** Variables beside the usual ones. */
  readonly env?: Readonly<Record<string, string>>;
  /** Starts `svcd` in the place of `svc daemon`. */
  readonly svcd?: boolean;
  /** Most descriptors it may have open (`ulimit -n`); as many as the test itself when absent. */
  readonly descriptors?: number;
  /** Data directory; one of its own, removed at the end, when absent. */
  readonly directory?: DataDirectory;
}

/** Name of the only daemon over a PostgreSQL. */
export const ONLY_NODE = "one";

/**
 * Makes a data directory as `svc init` does, and its database on PostgreSQL if it has none in a
 * file.
 */
export async function initDataDirectory(program: Program): Promise<DataDirectory> {
  const template = templates.get(program.command) ?? makeTemplate(program);
  templates.set(program.command, template);
  const { path, database } = await template;
  await using opening = new AsyncDisposableStack();
  const copy = database && opening.use(await copyDatabase(database));
  const dir = opening.use(await tempDir());
  const copied = await run("cp", ["-a", `${path}/.`, dir.path]);
  equal(copied.code, 0, copied.stderr);
  if (copy !== undefined) await dir.write("database.url", `${copy.url}\n`);
  const open = opening.move();
  return { path: dir.path, [Symbol.asyncDispose]: () => open.disposeAsync() };
}

/** How a data directory joins a shared database. */
export interface Joining {
  readonly url: string;
  /** Name of its node. */
  readonly node: string;
  /** Key file of the other nodes; absent for the first. */
  readonly keyFile?: string | undefined;
}

/** A data directory that shares a database. */
export async function joinDatabase(
  program: Program,
  { url, node, keyFile }: Joining,
): Promise<DataDirectory> {
  await using opening = new AsyncDisposableStack();
  const dir = opening.use(await tempDir());
  const init = ["init", "--data-dir", dir.path, "--database", url, "--node", node];
  const withKey = keyFile === undefined ? init : [...init, "--key-file", keyFile];
  const result = await runSvc(program, withKey);
  equal(result.code, 0, result.stderr);
  opening.move();
  return dir;
}

/** A data directory made by `svc init`, which no daemon has used. */
interface Template {
  readonly path: string;
  /** Its database; a file in it when absent. */
  readonly database?: TestDatabase;
}

/** By executable. */
const templates = new Map<Program["command"], Promise<Template>>();

/** Made once in each test file, because `svc init` takes as long as starting a daemon. */
async function makeTemplate(program: Program): Promise<Template> {
  if (program.onPostgres === true) return await makeTemplateOnPostgres(program);
  const { path } = await tempDir();
  globalThis.addEventListener("unload", () => Deno.removeSync(path, { recursive: true }));
  const result = await runSvc(program, ["init", "--data-dir", path]);
  equal(result.code, 0, result.stderr);
  return { path };
}

async function makeTemplateOnPostgres(program: Program): Promise<Template> {
  const database = onceDone.use(await createTestDatabase());
  const { url } = database;
  const { path } = onceDone.use(await joinDatabase(program, { url, node: ONLY_NODE }));
  return { path, database };
}

/** Templates, which are removed after the tests of a file. */
const onceDone = new AsyncDisposableStack();
if (ONE_PROGRAM.onPostgres === true) Deno.test.afterAll(() => onceDone.disposeAsync());

/** Starts a daemon and waits until it is ready. */
export async function startDaemon(
  program: Program,
  options: DaemonOptions = {},
): Promise<TestDaemon> {
  await using opening = new AsyncDisposableStack();
  const directory = options.directory ?? opening.use(await initDataDirectory(program));
  const flags = ["--webhook-bind", "127.0.0.1:0", ...options.args ?? []];
  const started = options.svcd === true
    ? svcdOf(program)
    : { ...program, args: [...program.args, "daemon"] };
  const limited = options.descriptors === undefined
    ? []
    : ["/bin/sh", "-c", `ulimit -n ${options.descriptors}; exec "$@"`, "sh"];
  const [command = "", ...args] = [...limited, started.command, ...started.args, ...flags];
  const child = new Deno.Command(command, {
    args,
    clearEnv: true,
    env: cleanEnv({ SVC_DATA_DIR: directory.path, ...options.env }),
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const daemon = new TestDaemon({ program, child, dataDir: directory.path });
  opening.use(daemon);
  await daemon.ready();
  const open = opening.move();
  daemon.onDispose(() => open.disposeAsync());
  return daemon;
}

/** Address of a daemon without a webhook server. */
const NOWHERE = "http://nowhere.invalid";

export class TestDaemon implements AsyncDisposable {
  readonly dataDir: string;
  /** Base address of the webhook server. */
  url = "";
  /** Base address of the control plane over TLS; empty where there is none. */
  controlUrl = "";
  /** Everything it has written to standard error. */
  log = "";
  readonly #program: Program;
  readonly #child: Deno.ChildProcess;
  readonly #http = Deno.createHttpClient({ poolMaxIdlePerHost: 64 });
  readonly #output: Promise<unknown>;
  #stdout = "";
  #ended: Deno.CommandStatus | undefined;
  #expectedCode = 0;
  /** Whether the test has told it to end. */
  #told = false;
  #dispose: (() => Promise<void>) | undefined;

  constructor(parts: { program: Program; child: Deno.ChildProcess; dataDir: string }) {
    this.#program = parts.program;
    this.#child = parts.child;
    this.dataDir = parts.dataDir;
    this.#output = Promise.all([
      collect(parts.child.stdout, (text) => this.#stdout += text),
      collect(parts.child.stderr, (text) => this.log += text),
      parts.child.status.then((status) => this.#ended = status),
    ]);
  }

  get pid(): number {
    return this.#child.pid;
  }

  get workspace(): string {
    return `${this.dataDir}/workspaces/default`;
  }

  /** Waits for the ready line and takes the address from it. */
  async ready(): Promise<void> {
    this.url = await until("the ready line of the daemon", () => {
      if (this.#ended !== undefined) throw new Error(`The daemon ended at once: ${this.log}`);
      const [line = "", url, off] =
        /^svc is ready: (?:webhooks at (https?:\S+[0-9])|(webhooks off)).*\n/m.exec(this.#stdout) ??
          [];
      this.controlUrl = /, control plane at (https:\S+)\n$/.exec(line)?.[1] ?? "";
      return off === undefined ? url : NOWHERE;
    });
  }

  /** Runs `svc` against this daemon. */
  svc(args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
    const env = { SVC_DATA_DIR: this.dataDir, ...options.env };
    return runSvc(this.#program, args, { ...options, env });
  }

  /** Runs a command with `-o json`, fails unless it succeeds, and returns the JSON. */
  async json(...args: string[]): Promise<unknown> {
    const result = await this.svc([...args, "-o", "json"]);
    equal(result.code, 0, `${result.stderr}The daemon's log: ${this.log}`);
    return JSON.parse(result.stdout);
  }

  /** Applies documents as `svc apply` does, and fails unless it succeeds. */
  async apply(...documents: readonly Manifest[]): Promise<Output<"apply">> {
    using client = this.client(); // most tests only begin with it, so a process is not worth it
    const files = [{ name: "-", text: toText(documents) }];
    return await client.call("apply", { files, dry_run: false }).catch((error) => {
      const why = [messageOf(error), ...error instanceof AppError ? error.details : []].join("\n");
      throw new Error(`${why}\nThe daemon's log: ${this.log}`, { cause: error });
    });
  }

  /** Sends one request to the webhook server; POST when nothing else is said. */
  async send(path: string, send: Send = {}): Promise<Answer> {
    const response = await fetch(this.url + path, {
      method: send.method ?? "POST",
      headers: send.headers ?? {},
      redirect: "manual",
      client: this.#http,
      ...(send.body === undefined ? {} : { body: toBody(send) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: parse(text) };
  }

  /**
   * Sends exactly this text; returns the status, or 0 if the connection was closed.
   */
  async sendRaw(text: string): Promise<number> {
    const { hostname, port } = new URL(this.url);
    using connection = await Deno.connect({ hostname, port: Number(port) });
    await connection.write(new TextEncoder().encode(text));
    const buffer = new Uint8Array(65_536);
    const read = await connection.read(buffer).catch(() => null);
    const answer = new TextDecoder().decode(buffer.subarray(0, read ?? 0));
    return Number(/^HTTP\/1\.1 ([0-9]{3}) /.exec(answer)?.[1] ?? 0);
  }

  /** Every task, newest first. */
  async tasks(): Promise<readonly TaskRecord[]> {
    using client = this.client();
    const { items } = await client.call("get", { what: "tasks", limit: 1_000_000 });
    return items as unknown as TaskRecord[];
  }

  /** A client of its control socket, to be disposed. */
  client(): Client {
    return connect({ socket: dataDirAt(this.dataDir).socket });
  }

  /** Waits until every task has ended; gives them all. */
  async settled(withinMs = PATIENCE_MS): Promise<readonly TaskRecord[]> {
    using client = this.client(); // a process for each look would take longer than most tasks
    await until("the end of every task", async () => {
      const { counts } = await client.call("status", {}) as { counts: Record<string, number> };
      const open = ["tasks_pending", "tasks_running", "tasks_waiting"];
      return open.every((name) => counts[name] === 0) ? true : undefined;
    }, withinMs);
    return await this.tasks();
  }

  signal(signal: Deno.Signal): void {
    this.#told = true;
    this.#child.kill(signal);
  }

  /** Sets the exit code that the daemon has to end with, instead of 0. */
  expectCode(code: number): void {
    this.#expectedCode = code;
  }

  /** Sends SIGKILL, and expects the exit code of that signal. */
  async crash(): Promise<void> {
    this.expectCode(137);
    if (this.#ended === undefined) this.signal("SIGKILL");
    await this.#output;
  }

  /** Sends SIGTERM, and SIGKILL if the daemon does not end; returns the exit code. */
  async stop(): Promise<number> {
    if (this.#ended === undefined) this.signal("SIGTERM");
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), STOP_WITHIN_MS);
    const { code } = await this.#child.status;
    clearTimeout(timer);
    await this.#output;
    return code;
  }

  /** Replaces the disposal of the daemon, once. */
  onDispose(dispose: () => Promise<void>): void {
    this.#dispose = dispose;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const dispose = this.#dispose;
    this.#dispose = undefined;
    if (dispose !== undefined) return await dispose();
    const endedBefore = this.#ended !== undefined && !this.#told;
    const code = await this.stop();
    this.#http.close();
    ok(!endedBefore, `The daemon ended by itself, exit code ${code}: ${this.log}`);
    equal(code, this.#expectedCode, `The daemon ended with exit code ${code}: ${this.log}`);
  }
}

/** A body as bytes: `fetch` would give a text a content type. */
function toBody({ body = "", chunked = false }: Send): BodyInit {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : new Uint8Array(body);
  if (!chunked) return bytes;
  const starts = Array.from({ length: Math.ceil(bytes.length / CHUNK) }, (_, i) => i * CHUNK);
  return ReadableStream.from(starts.map((at) => bytes.slice(at, at + CHUNK)));
}

const CHUNK = 10_000;

async function collect(stream: ReadableStream<Uint8Array>, take: (text: string) => void) {
  for await (const text of stream.pipeThrough(new TextDecoderStream() as never)) take(String(text));
}

function parse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
