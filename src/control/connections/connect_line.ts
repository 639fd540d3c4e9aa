/**
 * `svc connect line`, from a token to events that arrive: top to bottom in one function. Running
 * it again changes nothing.
 *
 * @module
 */

import type { Connected, ConnectedHook } from "../../api/connection_operations.ts";
import type { Input } from "../../api/operations.ts";
import type { Caller } from "../../auth/caller.ts";
import { AppError } from "../../base/errors.ts";
import { isToken, readToken } from "../../connections/find_connection.ts";
import type { ApiAccess } from "../../connections/api/api_call.ts";
import { mustCallLine } from "../../connections/line/line_client.ts";
import {
  MAX_WEBHOOK_URL,
  readWebhook,
  setWebhook,
  testWebhook,
} from "../../connections/line/webhook.ts";
import { nameOf, ofName } from "../../connections/api/platform_name.ts";
import { webhookPath } from "../../intake/webhook_path.ts";
import { type ConnectionSpec, LINE_API_URL } from "../../resources/connection.ts";
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
import { connectionFile } from "./connect_manifests.ts";
import type { ConnectionWork } from "./lines.ts";

type ConnectInput = Input<"connect.line">;

/** The connection to make, computed from the input and the resources alone. */
interface Plan extends ConnectionName {
  readonly api: string;
  readonly url: string;
  readonly known: Resource<ConnectionSpec> | undefined;
  readonly receiving: ChatReceiving;
  readonly place: TokenPlace;
  readonly token: string;
  /** The channel secret to set, if any. */
  readonly secret: string | undefined;
}

/**
 * @throws {AppError} `usage`, `refused`, `invalid` or `overloaded`, with what is wrong and what to
 * do.
 */
export async function* connectLine(
  input: ConnectInput,
  caller: Caller,
  host: ConnectHost,
  signal: AbortSignal,
): ConnectionWork<Connected> {
  const plan = toPlan(input, host);
  const { project, name, api, url, receiving } = plan;
  const access: ApiAccess = { api, token: () => plan.token, clock: host.clock, signal };
  const bot = await mustCallLine(access, { path: "/v2/bot/info" });
  const login = host.secrets.redact(nameOf(bot["displayName"], bot["basicId"]));
  yield { step: `channel access token${ofName(login)}` };
  const chat = { platform: "line", project, receiving } as const;
  const resources = yield* applyChat(chat, filesOf(plan, host), caller, host);
  const was = await readWebhook(access);
  if (was.url !== url) await setWebhook(access, url);
  const action = was.url === url ? "unchanged" : was.url === "" ? "created" : "configured";
  yield { step: `webhook ${action}: ${url}` };
  const made = host.catalog.find("Connection", project, name);
  if (made !== undefined) {
    const news = { login, userId: nameOf(bot["userId"]), fault: null };
    await host.store.noteConnection(made, news, host.clock.now());
  }
  if (!was.isUsed) yield { note: USE_WEBHOOK };
  if (action !== "unchanged") yield { note: REDELIVERY };
  yield { step: "waiting for LINE's test" };
  const hook: ConnectedHook = { endpoint: receiving.endpoint, id: 0, url, action };
  return {
    name,
    project,
    to: "line",
    events: "push",
    login,
    token_expires_at: null,
    resources,
    hooks: [hook],
    check: await testWebhook(access),
  };
}

const WHERE = "in the LINE Developers Console, tab Messaging API of the channel";
const USE_WEBHOOK = `"Use webhook" is off: switch it on ${WHERE}; no API can`;
const REDELIVERY =
  `"Webhook redelivery" repeats events that the daemon missed: switch it on ${WHERE}; no API ` +
  "can, and none shows whether it is on";

function toPlan(input: ConnectInput, { catalog }: ConnectHost): Plan {
  const { project = DEFAULT_PROJECT, name = "line" } = input;
  const known = knownConnection({ project, name }, "line", catalog);
  const line = known?.spec.line;
  const endpoint = input.endpoint ?? line?.endpoint;
  const receiving = chatReceiving("line", { project, endpoint }, catalog);
  const keys = ["channelAccessToken"] as const;
  const { channelAccessToken: place } = tokenPlaces({ project, name }, line, { keys, catalog });
  const token = input.token ?? readToken({ project, name }, { fromSecret: place }, catalog);
  if (!isToken(token)) {
    throw new AppError(
      "invalid",
      "The channel access token has characters that tokens cannot " +
        "have",
    );
  }
  const url = input.url.replace(/\/+$/, "") + webhookPath({ project, name: receiving.endpoint });
  if (!url.startsWith("https://") || url.length > MAX_WEBHOOK_URL) {
    const message =
      `LINE posts to https:// addresses only, of at most ${MAX_WEBHOOK_URL} characters`;
    throw new AppError("usage", message);
  }
  const hasSecret = receiving.files.length === 0 ||
    storedValue({ project }, signingPlace("line"), catalog) !== undefined;
  if (!hasSecret && input.channel_secret === undefined) {
    throw new AppError("usage", "The channel secret, with which LINE signs, is missing");
  }
  return {
    project,
    name,
    api: (input.api ?? line?.api ?? LINE_API_URL).replace(/\/+$/, ""),
    url,
    known,
    receiving,
    place,
    token,
    secret: input.channel_secret,
  };
}

function filesOf(
  { project, name, api, known, receiving, place, token, secret }: Plan,
  { catalog }: Pick<ConnectHost, "catalog">,
) {
  const at = { project, name };
  const spec: ConnectionSpec = {
    ...known?.spec,
    line: {
      ...known?.spec.line,
      ...(api === LINE_API_URL ? {} : { api }),
      endpoint: receiving.endpoint,
      channelAccessToken: { fromSecret: place },
    },
  };
  const signing = secret === undefined ? [] : [{ ...signingPlace("line"), value: secret }];
  return [
    ...secretFiles(at, signing, { catalog, labels: { integration: "line" } }),
    ...secretFiles(at, [{ ...place, value: token }], { catalog }),
    connectionFile(at, spec, known),
  ];
}
