/**
 * A console in a browser under test: `svc console` as a process, and Chromium on its page.
 * `.ci/test` says where Chromium is; without one the tests say that they were skipped.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { join } from "node:path";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import type { TestDaemon } from "./daemon.ts";
import { cleanEnv, NOT_ALL, ONE_PROGRAM } from "./program.ts";
import { skippable } from "./requirements.ts";
import { tempDir } from "./temp_dir.ts";
import { PATIENCE_MS, until } from "./until.ts";

const ATTACHED = { state: "attached" } as const;

/** Path of Chromium; empty where there is none. */
export const BROWSER = Deno.env.get("SVC_BROWSER") ?? "";
/** Where pictures are kept as artefacts; nowhere when empty. */
const PICTURES = Deno.env.get("SVC_TEST_PICTURES") ?? "";

/**
 * A test in the browser; skipped where there is none, and, unless `isLong` is false, where not
 * everything is to run.
 */
export function browserTest(
  name: string,
  fn: (t: Deno.TestContext) => Promise<void>,
  { isLong = true, skip }: { readonly isLong?: boolean; readonly skip?: string | undefined } = {},
): void {
  const lacks = BROWSER === "" ? "SVC_BROWSER names no Chromium" : skip;
  const reason = lacks ?? (isLong ? NOT_ALL : undefined);
  // The driver's sockets and timers end with the browser, but not within the test that began them.
  Deno.test({
    ...skippable(name, reason),
    sanitizeOps: false,
    sanitizeResources: false,
    fn: (t) => fn(t).catch(throwFirst),
  });
}

/** Throws the first failure; failures of the clean-up stand beside it. */
function throwFirst(thrown: unknown): never {
  if (!(thrown instanceof SuppressedError)) throw thrown;
  console.error("afterwards:", thrown.error);
  return throwFirst(thrown.suppressed);
}

/** A running `svc console`. */
export interface TestConsole extends AsyncDisposable {
  /** The link it printed; its ticket is good once. */
  readonly link: string;
  /** Such as `http://127.83.201.9:8137`. */
  readonly origin: string;
  /** Presses Enter in its terminal; gives the new link. */
  readonly nextLink: () => Promise<string>;
  /** Ends it as Ctrl-C does; gives the exit code. */
  readonly stop: () => Promise<number>;
}

/** Starts `svc console` for a daemon and waits for its link. */
export async function startConsole(
  daemon: Pick<TestDaemon, "dataDir">,
  args: readonly string[] = [],
  { program = ONE_PROGRAM, env = {} }: {
    readonly program?: typeof ONE_PROGRAM;
    readonly env?: Readonly<Record<string, string>>;
  } = {},
): Promise<TestConsole> {
  const child = new Deno.Command(program.command, {
    args: [...program.args, "console", "--no-open", ...args],
    clearEnv: true,
    env: cleanEnv({ SVC_DATA_DIR: daemon.dataDir, ...env }),
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let output = "";
  let isOver = false;
  const collect = async (stream: ReadableStream<Uint8Array<ArrayBuffer>>) => {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) output += text;
  };
  const ended = Promise.all([collect(child.stdout), collect(child.stderr)]);
  void child.status.then(() => isOver = true);
  const links = () => output.match(/http:\/\/[\w.]+:[0-9]+\/\S*#ticket=[\w-]+/g) ?? [];
  const input = child.stdin.getWriter();
  const linkAt = (index: number) =>
    until("a link of svc console", () => {
      const link = links()[index];
      if (link === undefined && isOver) throw new Error(`svc console has ended: ${output}`);
      return link;
    });
  const stop = async () => {
    if (!isOver) child.kill("SIGINT");
    const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
    const { code } = await child.status;
    clearTimeout(timer);
    await ended;
    return code;
  };
  try {
    const link = await linkAt(0);
    return {
      link,
      origin: new URL(link).origin,
      async nextLink() {
        const before = links().length;
        await input.write(new TextEncoder().encode("\n"));
        return await linkAt(before);
      },
      stop,
      async [Symbol.asyncDispose]() {
        await input.close().catch(() => {});
        await stop();
      },
    };
  } catch (error) {
    await input.close().catch(() => {});
    await stop();
    throw error;
  }
}

/** Chromium with a profile of its own. */
export interface TestBrowser extends AsyncDisposable {
  readonly context: BrowserContext;
  /** Opens a tab. Errors and violations of the policy in it fail the test. */
  readonly open: (address: string) => Promise<Page>;
  /** Faults so far; a test removes those that it expects. */
  readonly faults: string[];
  /** Ignores faults that match, also those that the browser reports late. */
  readonly expects: (fault: RegExp) => void;
}

/** How to start Chromium. */
export interface BrowserOptions {
  readonly args?: readonly string[];
  readonly viewport?: { readonly width: number; readonly height: number };
  readonly colorScheme?: "light" | "dark";
}

export async function startBrowser(options: BrowserOptions = {}): Promise<TestBrowser> {
  await using opening = new AsyncDisposableStack();
  const home = opening.use(await tempDir());
  const isRoot = Deno.uid() === 0; // its sandbox does not work for root
  const browser: Browser = await chromium.launch({
    executablePath: BROWSER,
    args: [...(isRoot ? ["--no-sandbox"] : []), "--disable-dev-shm-usage", ...options.args ?? []],
    env: { ...cleanEnv(), HOME: home.path, TMPDIR: home.path },
    timeout: PATIENCE_MS,
  });
  opening.defer(() => browser.close());
  const { width, height } = options.viewport ?? { width: 1280, height: 800 };
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: options.colorScheme ?? "light",
    permissions: ["clipboard-read", "clipboard-write"],
    locale: "en-GB",
  });
  context.setDefaultTimeout(PATIENCE_MS);
  const faults: string[] = [];
  const expected: RegExp[] = [];
  context.on("page", (page) => {
    page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
    page.on("console", (message) => {
      if (message.type() === "error") faults.push(`${message.type()}: ${message.text()}`);
    });
  });
  const open = opening.move();
  return {
    context,
    faults,
    expects: (fault) => void expected.push(fault),
    async open(address) {
      const page = await context.newPage();
      await page.goto(address);
      // A page that is left before its ticket was exchanged takes the ticket with it.
      if (address.includes("#ticket=")) {
        await page.locator(".connection, .center h1").first().waitFor(ATTACHED); // in, or refused
      }
      return page;
    },
    async [Symbol.asyncDispose]() {
      await open.disposeAsync();
      deepEqual(faults.filter((fault) => !expected.some((one) => one.test(fault))), []);
    },
  };
}

/** Keeps a picture of a page as an artefact, where the run wants pictures. */
export async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES === "") return;
  await Deno.mkdir(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${name}.png`) });
}
