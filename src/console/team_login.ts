/**
 * The login of a console for a team. It ends in a ticket, as Enter does in the terminal of a console for
 * one person: the browser is sent to a page with the ticket behind its `#`, and has the cookie without
 * which the ticket is worth nothing. Nothing here says what anybody may do: the daemon knows whose an
 * identity is.
 *
 * @module
 */

import type { Client } from "../api/client.ts";
import type { Core } from "../base/core.ts";
import { AppError, toAppError } from "../base/errors.ts";
import { identityFault } from "../resources/person.ts";
import type { LoginStep } from "./gate.ts";
import { newSecret, type Sessions } from "./sessions.ts";
import { pageResponse } from "./login/pages.ts";
import { LOGIN_MS, PendingLogins } from "./login/pending_logins.ts";
import { returnPath } from "./return_path.ts";
import type { AskedWay, LoginWay } from "./login/ways.ts";

/** The only cookie: no other host, no plain connection and no script gets it. */
const COOKIE = "__Host-svc-login";
/** Most logins that wait for a provider at once: each of them keeps a connection. */
const MOST_WAITING = 32;

/** What a login needs. */
export interface LoginOptions extends Core {
  readonly ways: readonly LoginWay[];
  /** Calls the daemon with a gateway token. */
  readonly client: Client;
  readonly sessions: Sessions;
}

/** Answers the requests below `/login`. */
export class Login {
  readonly #options: LoginOptions;
  readonly #pending: PendingLogins;
  #waiting = 0;

  constructor(options: LoginOptions) {
    this.#options = options;
    this.#pending = new PendingLogins(options.clock);
  }

  /** One step; a refusal is a page as well, which a person reads. */
  async answer(step: LoginStep, headers: Headers, signal: AbortSignal): Promise<Response> {
    const query = new URLSearchParams(step.query);
    const request = { query, headers, signal, returnTo: returnPath(query.get("return")) };
    this.#waiting++;
    try {
      if (this.#waiting > MOST_WAITING) {
        throw new AppError("overloaded", "Too many people log in at the moment: try again");
      }
      return await this.#take(step, request);
    } catch (thrown) {
      const error = toAppError(thrown);
      // The reason stays here: it may be about somebody else's login.
      this.#options.log.warn("login refused", {
        way: step.way ?? "",
        because: `${error.message}${error.reason === "" ? "" : `: ${error.reason}`}`,
      });
      return refusalPage(error, step, request.returnTo);
    } finally {
      this.#waiting--;
    }
  }

  async #take(step: LoginStep, request: LoginRequest): Promise<Response> {
    const { ways } = this.#options;
    if (step.way === undefined) {
      const [only, second] = ways;
      if (only !== undefined && second === undefined) return await this.#begin(only, request);
      return choicePage(ways, request.returnTo);
    }
    const way = ways.find(({ name }) => name === step.way);
    if (way === undefined) throw new AppError("not_found", `There is no login "${step.way}" here`);
    if (!step.isCallback) return await this.#begin(way, request);
    if (!("finish" in way)) throw new AppError("not_found", "Nothing is at this path");
    return await this.#finish(way, request);
  }

  async #begin(way: LoginWay, request: LoginRequest): Promise<Response> {
    const { headers, returnTo } = request;
    // One cookie for all logins of a browser: several tabs may log in at once.
    const cookie = cookieIn(headers) ?? newSecret();
    if ("read" in way) return await this.#admit(await way.read(headers), cookie, request);
    const secrets = { state: newSecret(), nonce: newSecret(), verifier: newSecret() };
    const to = await way.begin(secrets);
    this.#pending.add({ way: way.name, cookie, secrets, returnTo });
    return redirect(to, cookie);
  }

  async #finish(way: AskedWay, request: LoginRequest): Promise<Response> {
    const { query, headers } = request;
    const cookie = cookieIn(headers);
    const states = query.getAll("state");
    const [state] = states;
    const pending = cookie === undefined || state === undefined || states.length > 1
      ? undefined
      : this.#pending.take(state, way.name, cookie);
    if (cookie === undefined || pending === undefined) {
      throw new AppError(
        "unauthorized",
        "This login was not begun in this browser, took longer than ten minutes, or is over already",
      );
    }
    request.returnTo = pending.returnTo;
    return await this.#admit(await way.finish(query, pending.secrets), cookie, request);
  }

  /** Sends the browser to a page with a ticket, if the daemon knows a Person of this identity. */
  async #admit(
    identity: string,
    cookie: string,
    { returnTo, signal }: LoginRequest,
  ): Promise<Response> {
    if (identityFault(identity) !== undefined) {
      throw new AppError("unauthorized", "The login gave no identity that a Person could have", {
        reason: identity,
      });
    }
    const person = await personOf(identity, this.#options.client, signal);
    if (person === undefined) return strangerPage(identity, returnTo);
    const ticket = this.#options.sessions.issue({ holder: { person, identity }, cookie });
    return redirect(`${returnTo}#ticket=${ticket.text}`, cookie);
  }
}

interface LoginRequest {
  readonly query: URLSearchParams;
  readonly headers: Headers;
  readonly signal: AbortSignal;
  /** Path at which the login ends. When a provider sends the browser back, it is known once its login is found. */
  returnTo: string;
}

/** The only cookie of this name, if it is one of ours. */
export function cookieIn(headers: Headers): string | undefined {
  const values = (headers.get("cookie") ?? "").split(";").map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${COOKIE}=`)).map((pair) => pair.slice(COOKIE.length + 1));
  const [value, second] = values;
  return second === undefined && value !== undefined && /^[0-9a-f]{64}$/.test(value)
    ? value
    : undefined;
}

/** Lax: a provider sends the browser back from its own site. */
function redirect(to: string, cookie: string): Response {
  const set = `${COOKIE}=${cookie}; Path=/; Max-Age=${LOGIN_MS / 1000}; Secure; HttpOnly; ` +
    "SameSite=Lax";
  return new Response(null, { status: 302, headers: { location: to, "set-cookie": set } });
}

/**
 * Name of the Person of an identity; `undefined` if there is none.
 *
 * @throws {AppError} `unreachable` if the daemon does not say.
 */
async function personOf(
  identity: string,
  client: Client,
  signal: AbortSignal,
): Promise<string | undefined> {
  const asked = { name: "person.login", body: "{}", by: "console", person: identity } as const;
  const answer = await client.forward(asked, signal);
  if (answer.status === 401) {
    await answer.body?.cancel();
    return undefined;
  }
  const { person, detail } = await answer.json() as {
    readonly person?: unknown;
    readonly detail?: string;
  };
  if (answer.ok && typeof person === "string") return person;
  throw new AppError("unreachable", "The daemon does not say who you are: tell its admin", {
    reason: detail ?? `HTTP ${answer.status}`,
  });
}

function loginPath(way: string | undefined, returnTo: string): string {
  const path = way === undefined ? "/login" : `/login/${way}`;
  return returnTo === "/" ? path : `${path}?return=${encodeURIComponent(returnTo)}`;
}

function choicePage(ways: readonly LoginWay[], returnTo: string): Response {
  return pageResponse({
    status: 200,
    title: "Log in",
    text: [],
    links: ways.map(({ name }) => [loginPath(name, returnTo), `Log in with ${name}`] as const),
  });
}

/** Tells nothing but what the person knows already, in the form that an admin needs. */
function strangerPage(identity: string, returnTo: string): Response {
  return pageResponse({
    status: 403,
    title: "You are not known here",
    text: ["Ask an admin to add this identity to your Person, or to make one:"],
    code: `is: [${JSON.stringify(identity)}]`,
    links: [[loginPath(undefined, returnTo), "Log in again"]],
  });
}

function refusalPage(error: AppError, step: LoginStep, returnTo: string): Response {
  return pageResponse({
    status: error.status,
    title: "You are not logged in",
    text: [error.code === "internal" ? "Something went wrong" : error.message],
    links: [[loginPath(step.isCallback ? undefined : step.way, returnTo), "Log in again"]],
  });
}
