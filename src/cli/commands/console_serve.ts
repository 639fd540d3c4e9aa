/**
 * `svc console serve`: the console for a team, for as long as the command runs.
 *
 * @module
 */

import type { Client } from "../../api/client.ts";
import { systemClock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { idFactory } from "../../base/ids.ts";
import { createLog } from "../../base/log.ts";
import { findEmbedded } from "../../console/assets.ts";
import { parseBind, tlsFiles } from "../../daemon/addresses.ts";
import { type Command, type Context, defineCommand, SERVER } from "../command.ts";
import { interruptible } from "../interrupt.ts";
import type { OptionDefinition } from "../option.ts";

const OPTIONS = [
  {
    flags: "--origin <url>",
    help: "where browsers find it, https://HOST or https://HOST:PORT (required)",
  },
  { flags: "--login <file>", help: "YAML file with the ways to log in (required)" },
  {
    flags: "--bind <address>",
    help: "HOST:PORT or unix:PATH; without --tls-cert only 127.0.0.1, [::1] or unix:PATH",
    fallback: "127.0.0.1:8443",
  },
  { flags: "--tls-cert <file>", help: "certificate (PEM); without it, a proxy ends TLS" },
  { flags: "--tls-key <file>", help: "key of the certificate (PEM)" },
  { flags: "--read-only", help: "only what the role read_only may do" },
  ...SERVER,
] as const satisfies readonly OptionDefinition[];

/** A proxy runs as another user, whose group may open the socket. */
const SOCKET_MODE = 0o660;

export const command: Command = defineCommand({
  help: "Serves the console to a team: people log in at the provider or the proxy that --login " +
    "names, and act as their Person. Needs a gateway token in $SVC_TOKEN, and no data directory. " +
    "Run it as a user of its own: who has the token can act as everybody, up to its role.",
  options: OPTIONS,
  examples: [
    "svc token create --gateway --role operator --name console",
    "svc console serve --server https://127.0.0.1:19443 --origin https://svc.example.com --login login.yaml",
  ],
  run: (context) => interruptible(context.io, (signal) => run(context, signal)),
});

async function run(context: Context<typeof OPTIONS>, signal: AbortSignal): Promise<void> {
  const { io, options } = context;
  const origin = originOf(options.origin);
  const tls = tlsFiles("--tls", options.tlsCert, options.tlsKey);
  const on = addressOf(options.bind, tls !== undefined);
  if (!options.login) throw new AppError("usage", "Name the file of logins with --login FILE");
  const { readLoginFile } = await import("../../console/login/login_file.ts");
  const { makeWays } = await import("../../console/login/make_ways.ts");
  const { providerFetch } = await import("../../console/login/provider_fetch.ts");
  const ask = providerFetch(systemClock);
  const ways = makeWays(readLoginFile(options.login), { ask, clock: systemClock, origin, on });
  using client = context.remoteClient();
  await checkGateway(client, signal);
  const { serveConsole } = await import("../../console/server.ts");
  const write = (line: string) => io.err(`${line}\n`);
  await using server = await serveConsole({
    place: { origin, on, ways, ...defined({ tls }) },
    client,
    findAsset: findEmbedded,
    readOnly: options.readOnly,
    clock: systemClock,
    log: createLog({ level: "warn", format: "pretty", clock: systemClock, write }),
    newId: idFactory(systemClock),
  });
  const at = "path" in on ? options.bind : options.bind.replace(/[0-9]+$/, String(server.port));
  io.out(`svc console is ready on ${server.url}, at ${at}\n`);
  await new Promise<void>((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/**
 * The origin as browsers send it, to the letter.
 *
 * @throws {AppError} `usage`.
 */
function originOf(text: string | undefined): string {
  if (!text) {
    throw new AppError(
      "usage",
      "Say with --origin where browsers find it: https://svc.example.com",
    );
  }
  const url = URL.parse(text);
  if (url?.protocol === "https:" && url.origin === text) return text;
  const meant = url?.protocol === "https:" ? `: write ${url.origin}` : "";
  throw new AppError(
    "usage",
    `--origin takes https://HOST or https://HOST:PORT, not "${text}"${meant}`,
  );
}

/**
 * Where to listen. Keys do not travel in the clear: without TLS of its own, only a proxy on this machine
 * reaches it.
 *
 * @throws {AppError} `usage`.
 */
function addressOf(text: string, hasTls: boolean) {
  if (text.startsWith("unix:/")) {
    if (hasTls) {
      throw new AppError("usage", "--bind unix:PATH is for a proxy that ends TLS: no --tls-cert");
    }
    return { path: text.slice("unix:".length), mode: SOCKET_MODE };
  }
  const on = parseBind(text);
  if (on === undefined) {
    throw new AppError("usage", `--bind takes HOST:PORT or unix:/PATH, not "${text}"`);
  }
  if (!hasTls && !["127.0.0.1", "::1"].includes(on.hostname)) {
    throw new AppError(
      "usage",
      `--bind ${text} needs --tls-cert and --tls-key: without them, it takes 127.0.0.1:PORT, ` +
        "[::1]:PORT or unix:/PATH, for a proxy on this machine",
    );
  }
  return on;
}

/**
 * Checks that the daemon takes the token for a gateway, which it then asks who nobody is.
 *
 * @throws {AppError} `usage` for a token of another kind; `forbidden`, `unreachable`.
 */
async function checkGateway(client: Client, signal: AbortSignal): Promise<void> {
  const nobody = { name: "status", body: "{}", by: "console", person: "header:" } as const;
  const answer = await client.forward(nobody, signal);
  const { detail } = await answer.json() as { readonly detail?: string };
  if (answer.status === 401) return;
  throw new AppError(
    "forbidden",
    'SVC_TOKEN is no gateway token: "svc token create --gateway --role operator --name console" ' +
      `makes one (the daemon: ${detail ?? `HTTP ${answer.status}`})`,
  );
}
