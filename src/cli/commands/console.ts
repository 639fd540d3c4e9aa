/**
 * `svc console`: the console in a browser, for as long as the command runs.
 *
 * @module
 */

import { systemClock } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { idFactory } from "../../base/ids.ts";
import { createLog } from "../../base/log.ts";
import { type FindAsset, findEmbedded } from "../../console/assets.ts";
import { isPage, PAGES } from "../../console/pages.ts";
import { newAddress } from "../../console/address.ts";
import { hasOwnScreen, openInBrowser, tunnelSteps } from "../../console/open_browser.ts";
import type { ConsoleServer } from "../../console/server.ts";
import { type Command, CONNECTION, type Context, defineCommand } from "../command.ts";
import { count, type OptionDefinition } from "../option.ts";
import { INTERRUPTED, interruptible } from "../interrupt.ts";
import type { Io } from "../io.ts";

/** Ports below need more rights, and a browser names no port 80. */
const [LEAST_PORT, MOST_PORT] = [1024, 65_535];

const OPTIONS = [
  {
    flags: "--port <n>",
    value: count(LEAST_PORT, MOST_PORT),
    help: "port to listen on, from 1024 on (default: any free one)",
  },
  { flags: "--read-only", help: "only what the role read_only may do" },
  { flags: "--no-open", help: "print the link, wherever the output goes; open no browser" },
  ...CONNECTION,
] as const satisfies readonly OptionDefinition[];

/** The command that serves the page's files from where `findAsset` finds them. */
export function consoleCommand(findAsset: FindAsset): Command {
  return defineCommand({
    help: "Opens the console in your browser: deliveries, tasks, logs and triggers, live. It " +
      "listens on loopback only, at a new address each time, has the rights that svc has here, " +
      "and ends with this command. A link works once; Enter prints a fresh one. Over ssh, it " +
      "prints the command that forwards it to your own machine.",
    arguments: [{
      name: "[page]",
      help: "what to open, such as task/ID, deliveries, trigger/NAME",
    }],
    options: OPTIONS,
    examples: [
      "svc console",
      "svc console task/latest",
      "svc console --no-open --port 8137",
      "svc console --read-only --server https://hooks.example.com:19443",
    ],
    async run(context) {
      await interruptible(context.io, (signal) => run(context, findAsset, signal));
      // A read of standard input that waits cannot be broken off, and would keep the process.
      Deno.exit(INTERRUPTED);
    },
  });
}

export const command: Command = consoleCommand(findEmbedded);

async function run(
  context: Context<typeof OPTIONS>,
  findAsset: FindAsset,
  signal: AbortSignal,
): Promise<void> {
  const { io } = context;
  const path = pagePath(context.argument(0));
  const port = context.options.port ?? 0;
  using client = context.client();
  await client.call("status", {}, signal); // fails if no daemon answers, or if it refuses this user
  const write = (line: string) => io.err(`${line}\n`);
  await using ending = new AsyncDisposableStack();
  const env = (name: string) => io.env(name);
  const address = newAddress(env);
  const { serveConsole } = await import("../../console/server.ts");
  const server = await serveConsole({
    place: { address, port },
    client,
    findAsset,
    readOnly: context.options.readOnly,
    clock: systemClock,
    log: createLog({ level: "warn", format: "pretty", clock: systemClock, write }),
    newId: idFactory(systemClock),
  });
  // Others may read a file or a journal, so a link goes there only on request.
  const printsLinks = io.outIsTerminal || !context.options.open;
  const show = (why = "") => {
    if (printsLinks) return io.out(`${why}\n  ${freshLink(server, path).link}\n\n`);
    io.out("The link is not printed, because the output is not a terminal: --no-open prints it\n");
  };
  const opens = context.options.open && hasOwnScreen(env);
  io.out(`svc console is ready on ${server.url}: Enter prints a link, Ctrl-C ends it\n`);
  if (opens) {
    const opening = openInBrowser({
      ...freshLink(server, path),
      directory: context.dir().run,
      env: io.environment(),
      clock: systemClock,
      onUnused: () => {
        if (signal.aborted) return;
        show("No browser has opened it. Open this link within a minute:\n");
      },
    });
    ending.defer(() => opening);
  } else {
    io.out(tunnelSteps(address, server.port, env) ?? "");
    show("Open this link within a minute; it works once:\n");
  }
  ending.use(server); // the server ends first, and with it the opening, which then removes its file
  await Promise.all([onEnter(io, show, signal), aborted(signal)]);
}

/**
 * The path of a page that is named on the command line.
 *
 * @throws {AppError} `usage` where there is none.
 */
function pagePath(page: string): string {
  const path = `/${page.replace(/^\//, "")}`;
  if (isPage(path)) return path;
  const pages = PAGES.join(", ");
  throw new AppError("usage", `No page "${page}" in the console: it has ${pages}`);
}

/** A link with a ticket of its own. */
function freshLink(server: ConsoleServer, path: string) {
  const { text, over } = server.issueTicket();
  return { link: `${server.url}${path}#ticket=${text}`, over };
}

/** Calls `then` for each line on standard input, until it ends or `signal` aborts. */
async function onEnter(io: Io, then: () => void, signal: AbortSignal): Promise<void> {
  const reader = io.stdin().getReader();
  const stop = () => void reader.cancel().catch(() => {});
  signal.addEventListener("abort", stop);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      for (const byte of value) if (byte === 0x0a) then();
    }
  } catch {
    // standard input cannot be read, so Enter cannot be pressed
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
