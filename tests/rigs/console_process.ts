/**
 * A console under test: `svc console` as a process, its output and its links.
 *
 * @module
 */

import { ok } from "node:assert/strict";
import { defined } from "../../src/base/defined.ts";
import { cleanEnv, type Program } from "../helpers/program.ts";
import { PATIENCE_MS, until } from "../helpers/until.ts";

/** How to start it. */
export interface ConsoleProcessOptions {
  readonly args?: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Whether it has a terminal; else its output goes to a pipe. */
  readonly onTerminal?: boolean;
}

/** A running `svc console`; disposing it ends it by force, where it has not ended. */
export class ConsoleProcess implements AsyncDisposable {
  /** What it has written so far. */
  stdout = "";
  stderr = "";
  readonly #child: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  readonly #over: Promise<number>;
  #code: number | undefined;

  constructor(program: Program, { args = [], env, onTerminal = false }: ConsoleProcessOptions) {
    const line = [program.command, ...program.args, "console", ...args];
    const [command = "", ...rest] = onTerminal
      ? [
        "script",
        "--quiet",
        "--return",
        "--command",
        `exec ${line.map(quoted).join(" ")}`,
        "/dev/null",
      ]
      : line;
    this.#child = new Deno.Command(command, {
      args: rest,
      clearEnv: true,
      env: cleanEnv(env),
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#input = this.#child.stdin.getWriter();
    this.#over = Promise.all([
      this.#child.status,
      collect(this.#child.stdout, (text) => this.stdout += text.replaceAll("\r", "")),
      collect(this.#child.stderr, (text) => this.stderr += text),
    ]).then(([{ code }]) => this.#code = code);
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Every link printed so far. */
  get links(): readonly string[] {
    return this.stdout.match(/http:\/\/\S+#ticket=[0-9a-f]{64}(?=\n)/g) ?? [];
  }

  /** Waits for its address, such as `http://127.83.201.9:8137`. */
  async ready(): Promise<string> {
    return await this.#until(
      "the ready line of the console",
      () => /^svc console is ready on (http:\/\/[\w.]+:[0-9]+):/.exec(this.stdout)?.[1],
    );
  }

  /** Waits for `count` links; returns the last. */
  async link(count = 1): Promise<string> {
    return await this.#until(`link ${count} of the console`, () => this.links[count - 1]);
  }

  async enter(): Promise<void> {
    await this.#input.write(new TextEncoder().encode("\n"));
  }

  /** Presses Ctrl-C, on a terminal; gives the exit code. */
  async breakOff(): Promise<number> {
    await this.#input.write(new TextEncoder().encode("\x03"));
    return await this.ended();
  }

  /** Sends a signal; gives the exit code. Standard input stays open. */
  async end(signal: Deno.Signal = "SIGINT"): Promise<number> {
    this.#child.kill(signal);
    return await this.ended();
  }

  /** Waits until it has ended; gives the exit code. */
  async ended(): Promise<number> {
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), PATIENCE_MS);
    const code = await this.#over;
    clearTimeout(timer);
    return code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#code === undefined) this.#child.kill("SIGKILL");
    await this.#over;
    await this.#input.close().catch(() => {});
  }

  async #until<T>(what: string, look: () => T | undefined): Promise<T> {
    return await until(what, () => {
      const found = look();
      ok(found !== undefined || this.#code === undefined, `${what}: ended, ${this.stderr}`);
      return found;
    });
  }
}

/** Requests to a console as the page makes them. */
export class PageSession {
  /** Address of the console, such as `http://127.83.201.9:8137`. */
  readonly url: string;
  readonly key: string;

  constructor(url: string, key: string) {
    this.url = url;
    this.key = key;
  }

  /** Opens a session with a link, as the page does. */
  static async open(link: string): Promise<PageSession> {
    const { origin, hash } = new URL(link);
    const answer = await post(`${origin}/session`, { ticket: hash.slice("#ticket=".length) });
    const { key } = await answer.json() as { key?: string };
    ok(key !== undefined, `no session: ${answer.status}`);
    return new PageSession(origin, key);
  }

  async call(name: string, input: unknown, signal?: AbortSignal): Promise<Response> {
    const url = `${this.url}/v1/${name}`;
    return await post(url, input, { key: this.key, ...defined({ signal }) });
  }
}

/** Posts JSON as the page does. */
export async function post(
  url: string,
  input: unknown,
  { key, signal }: { readonly key?: string; readonly signal?: AbortSignal } = {},
): Promise<Response> {
  return await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "origin": new URL(url).origin,
      "accept-encoding": "identity",
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    },
    body: JSON.stringify(input),
    ...defined({ signal }),
  });
}

/** Reads an answer to its end; returns its status. */
export async function statusOf(answer: Promise<Response>): Promise<number> {
  const response = await answer;
  await response.text();
  return response.status;
}

/** Reads a stream until the text read here matches. */
export async function readUntil({ body }: Response, pattern: RegExp): Promise<void> {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  for (let text = ""; !pattern.test(text);) {
    const { done = true, value } = await reader?.read() ?? {};
    ok(!done, `the stream ended: ${text}`);
    text += decoder.decode(value, { stream: true });
  }
  reader?.releaseLock();
}

/** Quotes a word for a shell. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

async function collect(stream: ReadableStream<Uint8Array>, take: (text: string) => void) {
  for await (const text of stream.pipeThrough(new TextDecoderStream() as never)) take(String(text));
}
