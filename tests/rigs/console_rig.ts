/**
 * The console's server in this process, on a free port; the test plays the daemon behind it.
 *
 * @module
 */

import { ok } from "node:assert/strict";
import { connect } from "../../src/api/client.ts";
import { type ConsoleAddress, newAddress } from "../../src/console/address.ts";
import { idFactory } from "../../src/base/ids.ts";
import type { Log } from "../../src/base/log.ts";
import type { Asset } from "../../src/console/assets.ts";
import type { LoginWay } from "../../src/console/login/ways.ts";
import { type ConsoleServer, serveConsole } from "../../src/console/server.ts";
import { type RawAnswer, RawClient } from "../helpers/raw_client.ts";
import { type SetClock, setClock } from "../helpers/manual_clock.ts";

/** A request that the daemon received. */
export interface DaemonCall {
  readonly path: string;
  readonly headers: Headers;
  readonly input: Record<string, unknown>;
  readonly signal: AbortSignal;
}

/** The console of one person, or that of a team. */
export type Mode = "own" | "team";

/** Each kind of console, over which the tests of shared rules run. */
export const MODES: readonly Mode[] = ["own", "team"];

/** How to make a rig. */
export interface RigOptions {
  /** Whose console it is; that of one person when absent. */
  readonly mode?: Mode;
  /** The Unix socket at which the console of a team listens, in the place of a port. */
  readonly socket?: string;
  /** The ways to log in of a team; by the header `x-user`, when absent. */
  readonly ways?: readonly LoginWay[];
  readonly readOnly?: boolean;
  /** Address; a new one of 127.0.0.0/8 when absent. */
  readonly address?: ConsoleAddress;
  /** Any free one when absent. */
  readonly port?: number;
  /** Plays the daemon; an empty object for everything when absent. */
  readonly daemon?: (call: DaemonCall) => Response | Promise<Response>;
}

/** A console under test. */
export interface ConsoleRig extends AsyncDisposable {
  readonly server: ConsoleServer;
  readonly address: ConsoleAddress;
  readonly clock: SetClock;
  /** Requests that the daemon received, oldest first. */
  readonly calls: readonly DaemonCall[];
  readonly logged: readonly string[];
  readonly host: string;
  /** Its origin, as the page sends it. */
  readonly origin: string;
  /** A new ticket; of a team by a login as the identity `header:NAME`. */
  ticket(name?: string): Promise<string>;
  key(name?: string): Promise<string>;
  /** Sends one request with exactly these headers and its length. */
  send(line: string, headers: Readonly<Record<string, string>>, body?: string): Promise<RawAnswer>;
  /** Sends the page's request with these changes; a header changed to `undefined` is left out. */
  page(
    path: string,
    input: unknown,
    change?: Readonly<Record<string, string | undefined>>,
  ): Promise<RawAnswer>;
}

/** The token that the console has for the daemon. */
export const DAEMON_TOKEN = "svct_this-is-for-the-daemon-alone";

/** Where browsers find the console of a team. */
export const TEAM_ORIGIN = "https://svc.example.com";
/** The cookie of the only browser of the rig. */
export const LOGIN_COOKIE = `__Host-svc-login=${"c0".repeat(32)}`;

/** The way of a rig: it believes everybody. */
const BY_HEADER: LoginWay = {
  name: "told",
  read: (headers) => Promise.resolve(`header:${headers.get("x-user")}`),
};

const PAGE = "<!doctype html><title>the page</title>";

export async function consoleRig(options: RigOptions = {}): Promise<ConsoleRig> {
  const { daemon = () => Response.json({}), readOnly = false, mode = "own" } = options;
  const { address = newAddress(() => undefined), port = 0 } = options;
  const calls: DaemonCall[] = [];
  let loggingIn: string | undefined;
  const logged: string[] = [];
  const note = (message: string) => void logged.push(message);
  const log: Log = { debug: note, info: note, warn: note, error: note };
  const clock = setClock();
  const client = connect({
    answer: async (request) => {
      const { headers, url, signal } = request;
      const input = await request.json();
      const call = { path: new URL(url).pathname, headers, input, signal };
      if (loggingIn !== undefined) return Response.json({ person: loggingIn });
      calls.push(call);
      return await daemon(call);
    },
  }, DAEMON_TOKEN);
  const newId = idFactory(clock);
  const findAsset = (name: string): Promise<Asset | undefined> => {
    const body = new TextEncoder().encode(PAGE);
    const found = ["index.html", "app.js"].includes(name);
    return Promise.resolve(found ? { type: "text/html", body, gzip: false } : undefined);
  };
  const { socket } = options;
  const on = socket === undefined ? { hostname: "127.0.0.1", port } : { path: socket, mode: 0o660 };
  const team = { origin: TEAM_ORIGIN, on };
  const ways = options.ways ?? [BY_HEADER];
  const place = mode === "own" ? { address, port } : { ...team, ways };
  const facts = { place, client, findAsset, readOnly };
  const server = await serveConsole({ ...facts, clock, log, newId });
  const host = mode === "own" ? `${address.host}:${server.port}` : new URL(TEAM_ORIGIN).host;
  const origin = mode === "own" ? `http://${host}` : TEAM_ORIGIN;
  const send: ConsoleRig["send"] = async (line, headers, body = "") => {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const length = body === ""
      ? ""
      : `content-length: ${new TextEncoder().encode(body).length}\r\n`;
    using connection = new RawClient(
      socket === undefined
        ? await Deno.connect({
          hostname: mode === "own" ? address.listensOn[0] : "127.0.0.1",
          port: server.port,
        })
        : await Deno.connect({ transport: "unix", path: socket }),
    );
    await connection.send(`${line} HTTP/1.1\r\n${lines.join("")}${length}\r\n${body}`);
    const answer = await connection.answer();
    ok(answer !== undefined, `no answer to ${line}`);
    return answer;
  };
  const page: ConsoleRig["page"] = (path, input, change = {}) => {
    const usual: Record<string, string | undefined> = {
      "host": host,
      origin,
      ...(mode === "own" ? {} : { cookie: LOGIN_COOKIE }),
      "sec-fetch-site": "same-origin",
      "content-type": "application/json",
    };
    const headers = Object.entries(Object.assign(usual, change))
      .flatMap(([name, value]) => value === undefined ? [] : [[name, value] as const]);
    return send(`POST ${path}`, Object.fromEntries(headers), JSON.stringify(input));
  };
  const ticket = async (name = "ada") => {
    if (mode === "own") return server.issueTicket().text;
    loggingIn = name;
    const headers = { host, "x-user": name, "cookie": LOGIN_COOKIE };
    const { head } = await send("GET /login/told", headers).finally(() => loggingIn = undefined);
    return /^location: .*#ticket=([0-9a-f]{64})\r$/im.exec(head)?.[1] ?? head;
  };
  return {
    server,
    origin,
    ticket,
    address,
    clock,
    calls,
    logged,
    host,
    send,
    page,
    async key(name) {
      const answer = await page("/session", { ticket: await ticket(name) });
      return JSON.parse(answer.body).key;
    },
    async [Symbol.asyncDispose]() {
      client[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** The code of a refusal. */
export function codeOf({ status, body }: RawAnswer): string {
  return `${status} ${(JSON.parse(body) as { code?: string }).code}`;
}
