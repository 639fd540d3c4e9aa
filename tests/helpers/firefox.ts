/**
 * Drives Firefox over its own protocol, WebDriver BiDi (https://www.w3.org/TR/webdriver-bidi/),
 * without a driver. It has only what tests of pages need.
 *
 * @module
 */

import { cleanEnv } from "./program.ts";
import { findProgram } from "./requirements.ts";
import { tempDir } from "./temp_dir.ts";
import { PATIENCE_MS, until } from "./until.ts";

/** Path of Firefox; empty where there is none. */
export const FIREFOX = findProgram("firefox", "firefox-esr") ?? "";

/** A tab of Firefox. */
export interface FirefoxTab extends AsyncDisposable {
  readonly go: (address: string) => Promise<void>;
  /** Evaluates an expression on the page. */
  readonly evaluate: (expression: string) => Promise<unknown>;
  /** Waits until the page shows a text. */
  readonly shows: (text: string) => Promise<void>;
}

/** Starts Firefox with a profile of its own. */
export async function startFirefox(): Promise<FirefoxTab> {
  await using opening = new AsyncDisposableStack();
  const home = opening.use(await tempDir());
  const child = new Deno.Command(FIREFOX, {
    args: ["--headless", "--no-remote", "--profile", home.path, "--remote-debugging-port=0"],
    clearEnv: true,
    env: { ...cleanEnv(), HOME: home.path, TMPDIR: home.path, MOZ_DISABLE_AUTO_SAFE_MODE: "1" },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  let log = "";
  const reading = (async () => {
    for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) log += text;
  })();
  opening.defer(async () => {
    child.kill("SIGKILL");
    await child.status;
    await reading;
  });
  const address = await until(
    "the address of Firefox",
    () => /WebDriver BiDi listening on (ws:\/\/\S+)/.exec(log)?.[1],
  );
  const session = opening.use(await BidiSession.open(`${address}/session`));
  await session.send("session.new", { capabilities: {} });
  const { context } = await session.send("browsingContext.create", { type: "tab" });
  const evaluate = async (expression: string) => {
    const { result } = await session.send("script.evaluate", {
      expression,
      target: { context },
      awaitPromise: true,
    });
    return (result as { readonly value?: unknown } | undefined)?.value;
  };
  const open = opening.move();
  return {
    async go(url) {
      await session.send("browsingContext.navigate", { context, url, wait: "complete" });
    },
    evaluate,
    async shows(text) {
      await until(`the page shows "${text}"`, async () => {
        const shown = String(await evaluate("document.body.innerText"));
        return shown.includes(text) ? true : undefined;
      });
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** A session of WebDriver BiDi: sends commands and finds their answers. */
class BidiSession implements Disposable {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, PromiseWithResolvers<Record<string, unknown>>>();
  #last = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.onmessage = ({ data }) => {
      const { id, result, message } = JSON.parse(String(data)) as {
        readonly id?: number;
        readonly result?: Record<string, unknown>;
        readonly message?: string;
      };
      const waiting = this.#waiting.get(id ?? -1);
      if (result !== undefined) waiting?.resolve(result);
      else waiting?.reject(new Error(message));
    };
  }

  static async open(address: string): Promise<BidiSession> {
    const socket = new WebSocket(address);
    await new Promise((resolve, reject) => {
      socket.onopen = resolve;
      socket.onerror = reject;
      setTimeout(reject, PATIENCE_MS);
    });
    return new BidiSession(socket);
  }

  async send(method: string, params: unknown): Promise<Record<string, unknown>> {
    const id = ++this.#last;
    const answer = Promise.withResolvers<Record<string, unknown>>();
    this.#waiting.set(id, answer);
    this.#socket.send(JSON.stringify({ id, method, params }));
    return await answer.promise;
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }
}
