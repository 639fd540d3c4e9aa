/**
 * `svc connect slack`, from two tokens to an open socket: top to bottom in one function. Run again,
 * it changes nothing.
 *
 * @module
 */

import type { Connected } from "../../api/connection_operations.ts";
import type { Input } from "../../api/operations.ts";
import type { Caller } from "../../auth/caller.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { isToken, readToken } from "../../connections/find_connection.ts";
import { type ApiAccess, apiError } from "../../connections/api/api_call.ts";
import { callSlack, type SlackData } from "../../connections/slack/slack_client.ts";
import { nameOf, ofName } from "../../connections/api/platform_name.ts";
import type { ConnectionSpec } from "../../resources/connection.ts";
import { SLACK_API_URL } from "../../resources/names.ts";
import { DEFAULT_PROJECT, type Resource } from "../../resources/resource.ts";
import {
  applyChat,
  type ChatReceiving,
  chatReceiving,
  type ConnectionName,
  knownConnection,
  secretFiles,
  signingPlace,
  storedValue,
  type TokenPlace,
  tokenPlaces,
} from "./chat_manifests.ts";
import type { ConnectHost } from "./connect_forge.ts";
import { connectionFile, newSecret } from "./connect_manifests.ts";
import type { ConnectionWork } from "./lines.ts";

type ConnectInput = Input<"connect.slack">;

/** The purpose of each scope that the app needs. The app of the printed link has all of them. */
const SCOPES: Readonly<Record<string, string>> = {
  "app_mentions:read": "mentions of the app do not arrive",
  "chat:write": "tasks cannot answer",
  "im:history": "messages to the app itself do not arrive",
  "commands": "slash commands do not arrive",
};

/** Longest wait for the `hello` of Slack's socket. */
const HELLO_MS = 30_000;

/** The connection to make, computed from the input and the resources alone. */
interface Plan extends ConnectionName {
  readonly api: string;
  readonly known: Resource<ConnectionSpec> | undefined;
  readonly receiving: ChatReceiving;
  readonly places: Readonly<Record<"appToken" | "botToken", TokenPlace>>;
  readonly appToken: string;
  readonly botToken: string;
}

/** @throws {AppError} `refused`, `invalid` or `overloaded`, with what is wrong and what to do. */
export async function* connectSlack(
  input: ConnectInput,
  caller: Caller,
  host: ConnectHost,
  signal: AbortSignal,
): ConnectionWork<Connected> {
  const plan = toPlan(input, host);
  const { project, name, api, receiving } = plan;
  const access = (token: string): ApiAccess => ({
    api,
    token: () => token,
    clock: host.clock,
    signal,
  });
  const bot = await ask(access(plan.botToken), "auth.test", "bot token");
  const login = host.secrets.redact(nameOf(bot.data["user"]));
  const team = nameOf(bot.data["team"]);
  yield { step: `bot token${ofName(login)}${team === "" ? "" : ` in ${team}`}` };
  await ask(access(plan.appToken), "apps.connections.open", "app-level token");
  yield { step: "app-level token may open sockets" };
  for (const note of missingScopes(bot)) yield { note };
  const chat = { platform: "slack", project, receiving } as const;
  const resources = yield* applyChat(chat, filesOf(plan, host), caller, host);
  const made = host.catalog.find("Connection", project, name);
  if (made !== undefined) {
    const userId = nameOf(bot.data["user_id"]);
    await host.store.noteConnection(made, { login, userId }, host.clock.now());
  }
  yield { step: "waiting for Slack's hello, 30 s at most" };
  return {
    name,
    project,
    to: "slack",
    events: "socket",
    login,
    token_expires_at: null,
    resources,
    hooks: [],
    check: await waitForHello(plan, host, signal),
  };
}

function toPlan(input: ConnectInput, host: ConnectHost): Plan {
  const { catalog } = host;
  const { project = DEFAULT_PROJECT, name = "slack" } = input;
  const known = knownConnection({ project, name }, "slack", catalog);
  const slack = known?.spec.slack;
  const endpoint = input.endpoint ?? slack?.endpoint;
  const receiving = chatReceiving("slack", { project, endpoint }, catalog);
  const keys = ["appToken", "botToken"] as const;
  const given = { appToken: input.app_token, botToken: input.bot_token };
  const places = tokenPlaces({ project, name }, slack, { keys, catalog });
  const token = (key: typeof keys[number]) =>
    checked(
      given[key] ?? readToken({ project, name }, { fromSecret: places[key] }, catalog),
      key,
    );
  return {
    project,
    name,
    api: (input.api ?? slack?.api ?? SLACK_API_URL).replace(/\/+$/, ""),
    known,
    receiving,
    places,
    appToken: token("appToken"),
    botToken: token("botToken"),
  };
}

/** Refuses a token of the other kind: people confuse the two. */
function checked(token: string, key: "appToken" | "botToken"): string {
  const [what, begin, other] = key === "botToken"
    ? ["bot token", "xoxb-", "xapp-"]
    : ["app-level token", "xapp-", "xoxb-"];
  if (!isToken(token)) {
    throw new AppError("invalid", `The ${what} has characters that tokens cannot have`);
  }
  if (token.startsWith(begin)) return token;
  const found = token.startsWith(other)
    ? `this one begins with ${other}: the two tokens are swapped`
    : "this one does not";
  throw new AppError("invalid", `The ${what} begins with ${begin}, and ${found}`);
}

async function ask(access: ApiAccess, method: string, what: string): Promise<SlackData> {
  const answer = await callSlack(access, method);
  if (answer.ok) return answer;
  const { code, message, retryAfterSecs } = apiError(answer);
  throw new AppError(code, `The ${what} cannot be used: ${message}`, defined({ retryAfterSecs }));
}

function missingScopes({ scopes }: SlackData): string[] {
  if (scopes === undefined) return [];
  return Object.entries(SCOPES).filter(([scope]) => !scopes.includes(scope)).map((
    [scope, without],
  ) =>
    `the bot token lacks the scope ${scope}, so ${without}: add it under OAuth & Permissions ` +
    "on the app's page, and install the app again"
  );
}

function filesOf({ project, name, api, known, receiving, places, appToken, botToken }: Plan, host: {
  readonly catalog: ConnectHost["catalog"];
}) {
  const { catalog } = host;
  const at = { project, name };
  const signing = signingPlace("slack");
  // With a random value no request can be signed: the address is closed until Slack's value is set.
  const isSigned = receiving.files.length === 0 || storedValue(at, signing, catalog) !== undefined;
  const secret = isSigned ? [] : [{ ...signing, value: newSecret() }];
  const spec: ConnectionSpec = {
    ...known?.spec,
    slack: {
      ...known?.spec.slack,
      ...(api === SLACK_API_URL ? {} : { api }),
      events: "socket",
      endpoint: receiving.endpoint,
      appToken: { fromSecret: places.appToken },
      botToken: { fromSecret: places.botToken },
    },
  };
  const tokens = [
    { ...places.appToken, value: appToken },
    { ...places.botToken, value: botToken },
  ];
  return [
    ...secretFiles(at, secret, { catalog, labels: { integration: "slack" } }),
    ...secretFiles(at, tokens, { catalog }),
    connectionFile(at, spec, known),
  ];
}

/** Waits until the daemon has opened the socket; returns what is wrong if it has not. */
async function waitForHello(
  at: ConnectionName,
  { sockets, clock }: Pick<ConnectHost, "sockets" | "clock">,
  signal: AbortSignal,
): Promise<NonNullable<Connected["check"]>> {
  const waiting = new AbortController();
  const late = clock.pause(HELLO_MS, AbortSignal.any([signal, waiting.signal]));
  await Promise.race([sockets.retry(at), late]);
  waiting.abort();
  const { connectedSince, problem } = sockets.stateOf(at) ?? {};
  if (connectedSince !== undefined) {
    return { ok: true, fault: null, message: problem ?? "The socket is open" };
  }
  if (problem !== undefined) return { ok: false, fault: "socket", message: problem };
  return { ok: false, fault: "timeout", message: "Slack did not say hello within 30 seconds" };
}
