/**
 * The server of the console: the page for browsers, and the way from it to the daemon. That of one
 * person listens on loopback and nowhere else; that of a team has a login. It holds no data but tickets
 * and keys.
 *
 * @module
 */

import type { Client } from "../api/client.ts";
import { rfc3339 } from "../base/clock.ts";
import type { Core } from "../base/core.ts";
import { defined } from "../base/defined.ts";
import { AppError, toAppError } from "../base/errors.ts";
import type { NewId } from "../base/ids.ts";
import { isJsonObject, type JsonObject, parseJson } from "../base/json.ts";
import { markKnown } from "../http/arrival.ts";
import { BodyBudget } from "../http/body_budget.ts";
import { problemResponse } from "../http/problem.ts";
import { readBody } from "../http/read_body.ts";
import type { ListenOn } from "../http/server/deno_server.ts";
import { serve } from "../http/server/serve.ts";
import { removeStaleSocket } from "../http/server/stale_socket.ts";
import type { TlsFiles } from "../http/server/tls_files.ts";
import type { ConsoleAddress } from "./address.ts";
import type { FindAsset } from "./assets.ts";
import { judge, type Site } from "./gate.ts";
import { cookieIn, Login } from "./team_login.ts";
import type { LoginWay } from "./login/ways.ts";
import { allowedCall, Passthrough } from "./passthrough.ts";
import { Sessions, type Ticket } from "./sessions.ts";

/** The address of a console of one person, whose link is in the terminal. */
export interface OwnPlace {
  readonly address: ConsoleAddress;
  /** 0 takes any free port. */
  readonly port: number;
}

/** The address of a console of a team, and how people log in there. */
export interface TeamPlace {
  /** `https://HOST` or `https://HOST:PORT`, as browsers write it. */
  readonly origin: string;
  readonly on: ListenOn;
  /** Absent behind a proxy that ends TLS. */
  readonly tls?: TlsFiles;
  readonly ways: readonly LoginWay[];
}

/** The address of a console, and the daemon that it calls. */
export interface ConsoleOptions extends Core {
  readonly place: OwnPlace | TeamPlace;
  /** Calls the daemon: with the rights of the person who started the console, or with a gateway token. */
  readonly client: Client;
  readonly findAsset: FindAsset;
  /** Leaves what the role `read_only` may do. */
  readonly readOnly: boolean;
  readonly newId: NewId;
}

/** A console that is served; disposing it ends it with all its tickets and keys. */
export interface ConsoleServer extends AsyncDisposable {
  /** Its address, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /** Makes a ticket for the page, whose text goes behind `#ticket=`. */
  issueTicket(): Ticket;
}

/** Each profile of a browser opens up to six; half of them may be of strangers, who need no key. */
const MAX_CONNECTIONS = { own: 64, team: 2000 };
/** Requests under way may be cut at the end, because the daemon carries them out nevertheless. */
const DRAIN_MS = 200;
/** The largest payload of a platform fits. */
const INPUT_LIMITS = { maxBytes: 1024 * 1024, deadlineMs: 30_000 };
/** Every user of this machine may send a ticket. */
const TICKET_LIMITS = { maxBytes: 1024, deadlineMs: 1000 };

/** Where a browser without a session logs in, in the answer that it has none. */
const LOGIN_HEADER = "svc-login";

/** The headers of every answer. */
const HEADERS = Object.entries({
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; "),
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
});

/**
 * Starts to serve the console.
 *
 * @throws {AppError} `refused` when the port cannot be had at every address that its host leads to.
 */
export async function serveConsole(options: ConsoleOptions): Promise<ConsoleServer> {
  const { place, log, clock } = options;
  await using opening = new AsyncDisposableStack();
  const sessions = opening.use(new Sessions(clock));
  const page = new PageRequests(options, sessions);
  const isTeam = "origin" in place;
  let port = isTeam ? 0 : place.port;
  const maxConnections = isTeam ? MAX_CONNECTIONS.team : MAX_CONNECTIONS.own;
  if (isTeam && "path" in place.on) await removeStaleSocket(place.on.path);
  for (const one of isTeam ? [place.on] : place.address.listensOn) {
    const server = await serve({
      on: typeof one === "string" ? { hostname: one, port } : one,
      ...defined({ tls: isTeam ? place.tls : undefined }),
      handler: (request) => page.answer(request),
      maxConnections,
      maxStrangers: maxConnections / 2,
      streams: true,
      drainMs: DRAIN_MS,
      log,
      clock,
    });
    opening.use(server);
    ({ port } = server);
  }
  const open = opening.move();
  return {
    url: isTeam ? place.origin : `http://${place.address.host}:${port}`,
    port,
    issueTicket: () => sessions.issue(),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** Answers every request that comes to the port, from the page or from any other program. */
class PageRequests {
  readonly #options: ConsoleOptions;
  readonly #sessions: Sessions;
  readonly #passthrough: Passthrough;
  readonly #site: Site;
  readonly #login: Login | undefined;
  readonly #budget = new BodyBudget(8 * INPUT_LIMITS.maxBytes);

  constructor(options: ConsoleOptions, sessions: Sessions) {
    this.#options = options;
    this.#sessions = sessions;
    this.#passthrough = new Passthrough(options.client);
    const { place } = options;
    this.#site = "origin" in place ? { origin: place.origin } : { host: place.address.host };
    this.#login = "origin" in place ? new Login({ ...options, ...place, sessions }) : undefined;
  }

  async answer(request: Request): Promise<Response> {
    const { log, newId } = this.#options;
    const response = await this.#decide(request).catch((thrown) => {
      const error = toAppError(thrown);
      if (error.code === "internal") log.error("request of the console failed", { error });
      return problemResponse(error, { requestId: newId(), trusted: true });
    });
    // The page goes there by itself: no terminal prints links.
    if (this.#login !== undefined && response.status === 401) {
      response.headers.set(LOGIN_HEADER, "/login");
    }
    for (const [name, value] of HEADERS) response.headers.set(name, value);
    return response;
  }

  async #decide(request: Request): Promise<Response> {
    const { headers, signal } = request;
    const verdict = judge(request, this.#site);
    if ("asset" in verdict) return await this.#file(verdict.asset);
    if ("login" in verdict) {
      if (this.#login === undefined) throw new AppError("not_found", "Nothing is at this path");
      return await this.#login.answer(verdict.login, headers, signal);
    }
    if ("exchanges" in verdict) return await this.#exchange(request);
    const [, key = ""] = /^Bearer ([0-9a-f]{64})$/.exec(headers.get("authorization") ?? "") ?? [];
    const session = this.#sessions.find(key);
    if (session === undefined) throw this.#unknownSession(); // before anything is read of its body
    markKnown(request);
    const call = allowedCall(verdict.operation, this.#options.readOnly);
    const input = await this.#read(request, INPUT_LIMITS);
    const ends = { signal: AbortSignal.any([signal, session.over]) };
    return await this.#passthrough.answer(call, input, {
      ...ends,
      ...defined({ holder: session.holder }),
    });
  }

  async #file(name: string): Promise<Response> {
    const asset = await this.#options.findAsset(name);
    if (asset === undefined) throw new AppError("not_found", `There is no ${name}`);
    const { type, body, gzip } = asset;
    const headers = new Headers({ "content-type": type });
    if (gzip) headers.set("content-encoding", "gzip");
    return new Response(body, { headers });
  }

  async #exchange(request: Request): Promise<Response> {
    const stated = request.headers.get("content-length");
    if (stated === null || !(Number(stated) <= TICKET_LIMITS.maxBytes)) {
      throw new AppError("too_large", `A ticket has ${TICKET_LIMITS.maxBytes} bytes at most`);
    }
    const { ticket } = await this.#read(request, TICKET_LIMITS);
    const cookie = cookieIn(request.headers);
    const key = typeof ticket === "string" ? this.#sessions.exchange(ticket, cookie) : undefined;
    if (key === undefined) throw this.#unknownSession();
    markKnown(request);
    return Response.json({
      key: key.text,
      read_only: this.#options.readOnly,
      expires_at: rfc3339(key.expiresAt),
      ...defined({ person: key.holder?.person }),
    });
  }

  /** The same answer for every reason why a ticket or key is not valid. */
  #unknownSession(): AppError {
    const message = this.#login === undefined
      ? "Press Enter in the terminal of svc console, and open the link it prints"
      : "Log in again";
    return new AppError("unauthorized", message);
  }

  async #read(request: Request, limits: typeof INPUT_LIMITS): Promise<JsonObject> {
    const held = this.#budget.hold(limits === INPUT_LIMITS ? "page" : "strangers");
    try {
      const headers = Object.fromEntries(request.headers);
      const body = await readBody(request, { headers, limits, held });
      const input = parseJson(new TextDecoder().decode(body));
      if (isJsonObject(input)) return input;
      throw new AppError("invalid", "The body is not a JSON object");
    } finally {
      held.release();
    }
  }
}
