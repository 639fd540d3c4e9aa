/**
 * Registers an App at GitHub through a browser: serves a page on loopback whose form carries the
 * manifest to GitHub, and waits until GitHub sends the browser back with a code.
 *
 * @module
 */

import type { Input } from "../api/operations.ts";
import { toBase64, toHex, utf8 } from "../base/bytes.ts";
import { systemClock } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { createLog } from "../base/log.ts";
import { serve } from "../http/server/serve.ts";
import type { CONNECTION, Context } from "./command.ts";
import { readLine } from "./confirm.ts";
import type { Io } from "./io.ts";

/** How the browser and the command meet. */
export interface Registration {
  /** Whether a person copies the addresses, because no browser reaches this machine. */
  readonly paste: boolean;
  readonly context: Context<typeof CONNECTION>;
}

type Form = Omit<Input<"connect.github_manifest">, "redirect_url">;

/** How long a person may take. */
const PATIENCE_MS = 10 * 60_000;
/** An address at which no server answers (RFC 6761); the browser shows it all the same. */
const PASTED_URL = "https://svc.invalid/github-app";
const MAX_CONNECTIONS = 16;

/**
 * The code that GitHub gives for a registered App; `undefined` if the App is there already.
 *
 * @throws {AppError} what the daemon refuses; `refused` if nobody registers it in time.
 */
export async function registerApp(
  input: Form,
  { paste, context }: Registration,
): Promise<string | undefined> {
  const { io } = context;
  const state = random();
  if (paste) {
    const page = await pageFor(PASTED_URL, state, { input, context });
    return page === undefined ? undefined : await pasted(page, state, io);
  }
  // Another user of this machine who knew the address could register an app of their own for it.
  const path = `/${random()}`;
  const { promise: code, resolve } = Promise.withResolvers<string>();
  let page: string | undefined = undefined;
  await using server = await serve({
    on: { hostname: "127.0.0.1", port: 0 },
    handler: (request) => answer(request, { path, state, page: () => page, resolve }),
    log: createLog({
      level: "warn",
      format: "pretty",
      clock: systemClock,
      write: (line) => io.err(`${line}\n`),
    }),
    maxConnections: MAX_CONNECTIONS,
    drainMs: 500,
  });
  const base = `http://127.0.0.1:${server.port}${path}`;
  page = await pageFor(`${base}/made`, state, { input, context });
  if (page === undefined) return undefined;
  io.err(`open this address in a browser on this machine, and register the app:\n\n  ${base}\n\n`);
  const ended = new AbortController();
  const late = systemClock.pause(PATIENCE_MS, ended.signal)
    .then(() => undefined);
  try {
    const given = await Promise.race([code, late]);
    if (given !== undefined) return given;
  } finally {
    ended.abort();
  }
  throw new AppError(
    "refused",
    "Nothing was changed: nobody has registered the app in ten minutes",
  );
}

/** The page with the form; `undefined` if there is nothing to register. */
async function pageFor(
  redirectUrl: string,
  state: string,
  { input, context }: Omit<Registration, "paste"> & { readonly input: Form },
): Promise<string | undefined> {
  using client = context.client();
  const given = { ...input, redirect_url: redirectUrl };
  const { form, manifest } = await client.call("connect.github_manifest", given);
  if (form === null || manifest === null) return undefined;
  const to = `${form}?state=${state}`;
  return document(
    `<form method="post" action="${escaped(to)}">` +
      `<input type="hidden" name="manifest" value="${escaped(manifest)}">` +
      `<p>svc registers a GitHub App: GitHub shows you what it may do, and asks for its name.</p>` +
      `<button>Register the app at ${escaped(new URL(form).host)}</button></form>`,
  );
}

/** Answers the browser; every other request gets 404. */
function answer(
  request: Request,
  { path, state, page, resolve }: {
    readonly path: string;
    readonly state: string;
    readonly page: () => string | undefined;
    readonly resolve: (code: string) => void;
  },
): Response {
  const { pathname, searchParams } = new URL(request.url);
  if (request.method !== "GET") return html(document("<p>Not found.</p>"), 404);
  if (pathname === path && page() !== undefined) return html(page() ?? "", 200);
  if (pathname !== `${path}/made`) return html(document("<p>Not found.</p>"), 404);
  const code = codeOf(searchParams, state);
  if (code === undefined) {
    return html(document("<p>This is not the answer to the registration that svc began.</p>"), 400);
  }
  resolve(code);
  return html(document("<p>The app is registered. Go back to the terminal.</p>"), 200);
}

/** The code of an answer, if it is the answer to this registration. */
function codeOf(given: URLSearchParams, state: string): string | undefined {
  const code = given.get("code") ?? "";
  return given.get("state") === state && /^[A-Za-z0-9_-]{1,100}$/.test(code) ? code : undefined;
}

/** Has a person carry the page to a browser, and the address that follows back here. */
async function pasted(page: string, state: string, io: Io): Promise<string> {
  io.err(
    "copy this line into the address bar of a browser, and register the app:\n\n" +
      `data:text/html;base64,${toBase64(utf8(page))}\n\n` +
      `The browser then shows an address that begins with ${PASTED_URL}, and no page.\n` +
      "Paste that address here: ",
  );
  const given = URL.parse((await readLine(io)).trim());
  const code = given === null ? undefined : codeOf(given.searchParams, state);
  if (code !== undefined) return code;
  const message = "Nothing was changed: that is not the address to which GitHub sent the browser " +
    "for this registration. An app that was registered stays there: delete it";
  throw new AppError("refused", message);
}

function document(body: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>svc</title>${body}</html>`;
}

function html(text: string, status: number): Response {
  return new Response(text, {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
    },
  });
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
}

function random(): string {
  return toHex(crypto.getRandomValues(new Uint8Array(16)));
}
