/**
 * `svc connect github --app` as a process, and a stand-in for the browser that registers the app.
 *
 * @module
 */

import { match, ok, strictEqual as equal } from "node:assert/strict";
import { cleanEnv, type Program } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";

/** A command that waits for a person. */
export class WaitingCommand implements AsyncDisposable {
  stdout = "";
  stderr = "";
  readonly #child: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  readonly #over: Promise<number>;
  #code: number | undefined;

  constructor(program: Program, args: readonly string[], env: Readonly<Record<string, string>>) {
    this.#child = new Deno.Command(program.command, {
      args: [...program.args, ...args],
      clearEnv: true,
      env: cleanEnv(env),
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#input = this.#child.stdin.getWriter();
    this.#over = Promise.all([
      this.#child.status,
      collect(this.#child.stdout, (text) => this.stdout += text),
      collect(this.#child.stderr, (text) => this.stderr += text),
    ]).then(([{ code }]) => this.#code = code);
  }

  /** Waits for what it says; returns the first group of the pattern. */
  async says(pattern: RegExp): Promise<string> {
    return await until(`${pattern}`, () => {
      const found = pattern.exec(this.stderr);
      if (found !== null) return found[1] ?? found[0];
      ok(this.#code === undefined, `it ended with ${this.#code}: ${this.stderr}`);
      return undefined;
    });
  }

  /** Types a line. */
  async type(line: string): Promise<void> {
    await this.#input.write(new TextEncoder().encode(`${line}\n`));
  }

  /** Waits for its end; returns its exit code. */
  ended(): Promise<number> {
    return until("the end of the command", () => this.#code);
  }

  async [Symbol.asyncDispose]() {
    if (this.#code === undefined) this.#child.kill("SIGKILL");
    await this.#input.close().catch(() => {});
    await this.#over;
  }
}

/** Posts the form of a page as a browser does; returns the address that GitHub sends it to. */
export async function postForm(page: string): Promise<string> {
  const [, action = "", value = ""] =
    /<form method="post" action="([^"]+)"><input type="hidden" name="manifest" value="([^"]+)">/
      .exec(page) ?? [];
  const unescaped = (text: string) =>
    text.replaceAll("&quot;", '"').replaceAll("&lt;", "<").replaceAll("&amp;", "&");
  const answer = await fetch(unescaped(action), {
    method: "POST",
    body: new URLSearchParams({ manifest: unescaped(value) }),
    redirect: "manual",
  });
  equal(answer.status, 302, await answer.text());
  return answer.headers.get("location") ?? "";
}

/** Does in a browser what a command asks for. */
export async function register(command: WaitingCommand): Promise<void> {
  const address = await command.says(/(http:\/\/127\.0\.0\.1:[0-9]+\/[0-9a-f]{32})\n/);
  const page = await fetch(address);
  const back = await postForm(await page.text());
  // Another answer than that to its own form is refused, and it goes on waiting.
  const other = new URL(back);
  other.searchParams.set("state", "of another");
  const refused = await fetch(other);
  equal(refused.status, 400);
  await refused.body?.cancel();
  const elsewhere = await fetch(new URL("/", address));
  equal(elsewhere.status, 404);
  await elsewhere.body?.cancel();
  match(await (await fetch(back)).text(), /Go back to the terminal/);
}

async function collect(stream: ReadableStream<Uint8Array>, take: (text: string) => void) {
  const decoder = new TextDecoder();
  for await (const chunk of stream) take(decoder.decode(chunk, { stream: true }));
}
