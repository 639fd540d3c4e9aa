/**
 * `svc console serve` as a process; the test plays the proxy and the browser before it.
 *
 * @module
 */

import { ok } from "node:assert/strict";
import { type IncomingMessage, request } from "node:http";
import { cleanEnv, type Program } from "../helpers/program.ts";
import { RawClient } from "../helpers/raw_client.ts";
import { PATIENCE_MS, until } from "../helpers/until.ts";

/** Where browsers find it. */
const ORIGIN = "https://svc.example.com";

/** An answer as the proxy gets it. */
export interface ProxiedAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** How to start one. */
export interface ServedOptions {
  readonly login: string;
  readonly env: Readonly<Record<string, string>>;
  /** Where browsers find it, and where it listens; the usual places when absent. */
  readonly origin?: string;
  readonly bind?: string;
  readonly args?: readonly string[];
}

/** A running console of a team; disposing it ends it by force, where it has not ended. */
export class ServedConsole implements AsyncDisposable {
  stdout = "";
  stderr = "";
  readonly login: string;
  readonly env: Readonly<Record<string, string>>;
  /** NaN at a Unix socket. */
  port = 0;
  readonly #child: Deno.ChildProcess;
  readonly #over: Promise<number>;

  constructor(
    program: Program,
    { login, env, origin = ORIGIN, bind = "127.0.0.1:0", args = [] }: ServedOptions,
  ) {
    this.login = login;
    this.env = env;
    const given = ["--origin", origin, "--bind", bind, "--login", login, ...args];
    this.#child = new Deno.Command(program.command, {
      args: [...program.args, "console", "serve", ...given],
      clearEnv: true,
      env: cleanEnv(env),
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#over = Promise.all([
      this.#child.status,
      collect(this.#child.stdout, (text) => this.stdout += text),
      collect(this.#child.stderr, (text) => this.stderr += text),
    ]).then(([{ code }]) => code);
  }

  /** Waits for its ready line. */
  async ready(): Promise<void> {
    let ended = false;
    void this.#over.then(() => ended = true);
    this.port = Number(
      await until("the ready line", () => {
        ok(!ended, this.stderr);
        return /^svc console is ready on \S+, at (?:unix:|\S+:)(\S+)\n/.exec(this.stdout)?.[1];
      }),
    );
  }

  /** Sends a request as a proxy does, and waits for the head of its answer. */
  async send(
    line: { readonly method: string; readonly path: string },
    headers: Readonly<Record<string, string>>,
    body = "",
  ): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const sending = request({
      host: "127.0.0.1",
      port: this.port,
      ...line,
      agent: false,
      headers: {
        host: new URL(ORIGIN).host,
        ...headers,
        ...(body === "" ? {} : { "content-length": String(new TextEncoder().encode(body).length) }),
      },
    });
    sending.once("response", resolve);
    sending.once("error", reject);
    sending.end(body);
    return await promise;
  }

  async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<ProxiedAnswer> {
    return await whole(await this.send({ method: "GET", path }, headers));
  }

  /** Sends what the page sends. */
  async post(path: string, input: unknown, headers: Readonly<Record<string, string>>) {
    const usual = { origin: ORIGIN, "content-type": "application/json" };
    const body = JSON.stringify(input);
    return await this.send({ method: "POST", path }, { ...usual, ...headers }, body);
  }

  /** Logs in as a browser does, and opens the page to which that leads. */
  async logIn(path: string, headers: Readonly<Record<string, string>>): Promise<TeamPage> {
    const { status, headers: answered, body } = await this.get(path, headers);
    ok(status === 302, `${status} ${body}`);
    const to = new URL(answered.get("location") ?? "", ORIGIN);
    const [cookie = ""] = answered.get("set-cookie")?.split(";") ?? [];
    const ticket = to.hash.slice("#ticket=".length);
    const session = await whole(await this.post("/session", { ticket }, { cookie }));
    const { key } = JSON.parse(session.body) as { key: string };
    return new TeamPage(this, to.pathname + to.search, key);
  }

  /** Sends a signal; gives the exit code. */
  async end(signal: Deno.Signal): Promise<number> {
    this.#child.kill(signal);
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), PATIENCE_MS);
    const code = await this.#over;
    clearTimeout(timer);
    return code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // it has ended
    }
    await this.#over;
  }
}

/** A page that is logged in. */
export class TeamPage {
  readonly path: string;
  readonly #console: ServedConsole;
  readonly #key: string;

  constructor(served: ServedConsole, path: string, key: string) {
    this.#console = served;
    this.path = path;
    this.#key = key;
  }

  /** Sends a call by hand, whose answer may break off. */
  async openRaw(name: string, input: unknown): Promise<RawClient> {
    const body = JSON.stringify(input);
    const head = [
      `POST /v1/${name} HTTP/1.1`,
      `host: ${new URL(ORIGIN).host}`,
      `origin: ${ORIGIN}`,
      "content-type: application/json",
      `authorization: Bearer ${this.#key}`,
      `content-length: ${body.length}`,
    ];
    const client = await RawClient.connect(this.#console.port);
    await client.send(`${head.join("\r\n")}\r\n\r\n${body}`);
    return client;
  }

  async call(name: string, input: unknown): Promise<ProxiedAnswer> {
    const authorization = `Bearer ${this.#key}`;
    return await whole(await this.#console.post(`/v1/${name}`, input, { authorization }));
  }
}

/** Starts one and waits until it is ready. */
export async function serveTeamConsole(
  program: Program,
  options: ServedOptions,
): Promise<ServedConsole> {
  const served = new ServedConsole(program, options);
  try {
    await served.ready();
    return served;
  } catch (error) {
    await served[Symbol.asyncDispose]();
    throw error;
  }
}

async function whole(answer: IncomingMessage): Promise<ProxiedAnswer> {
  let body = "";
  for await (const part of answer) body += new TextDecoder().decode(part as Uint8Array);
  const headers = new Headers();
  for (const [name, value] of Object.entries(answer.headers)) {
    headers.set(name, [value ?? ""].flat().join(", "));
  }
  return { status: answer.statusCode ?? 0, headers, body };
}

async function collect(stream: ReadableStream<Uint8Array>, take: (text: string) => void) {
  for await (const text of stream.pipeThrough(new TextDecoderStream() as never)) take(String(text));
}
