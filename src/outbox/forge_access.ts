/**
 * The common part of all messages to forges: the Connection through which they go, its user, and the
 * meaning of an answer of the API to the outbox.
 *
 * @module
 */

import { defined } from "../base/defined.ts";
import { type ForgeName, FORGES } from "../base/forge_names.ts";
import { AppError } from "../base/errors.ts";
import { apiError } from "../connections/api/api_call.ts";
import { type Connection, findConnection, mayAnswerTo } from "../connections/find_connection.ts";
import {
  CallFailed,
  type Forge,
  type ForgeRepository,
  type ForgeSubject,
  type ForgeUser,
  type Thread,
} from "../connections/api/forge.ts";
import { checkForgeToken } from "../connections/forge_tokens.ts";
import { rightsOfMessage } from "./github_rights.ts";
import { FORGES_BY_NAME } from "../connections/forges.ts";
import type { RestAnswer, RestCall, RestFailure } from "../connections/api/rest.ts";
import { type ConnectionSpec, platformOfConnection } from "../resources/connection.ts";
import { findCeiling } from "../outputs/may_rules.ts";
import type { Catalog } from "../resources/catalog.ts";
import type { OutputName } from "../resources/may.ts";
import type { TriggerSpec } from "../resources/trigger.ts";
import type { ClaimedMessage, OutboxMessage } from "../store/outbox_records.ts";
import type { MarkedPlace, MarkedRepository } from "./marker.ts";
import {
  type FindResult,
  type MessageKind,
  type NotSent,
  type Rate,
  resultOfError,
  type SendHost,
  type SendResult,
} from "./message_kind.ts";

/**
 * GitHub's secondary rate limits for requests that write (https://docs.github.com/en/rest); GitLab's
 * are wider.
 */
const RATES: readonly Rate[] = [
  { most: 1, perMs: 1000 },
  { most: 80, perMs: 60_000 },
  { most: 500, perMs: 3600_000 },
];

/** By how much the clock of a forge may be behind the clock of this machine. */
export const CLOCKS_DIFFER_MS = 24 * 3600_000;

/** `on` of a target whose number is that of a pull, at forges that number issues and pulls apart. */
const PULL_THREAD = "merge_request";

/** One message on its way to a forge. */
export interface ForgeSending extends ClaimedMessage {
  readonly connection: Connection;
  readonly forge: Forge;
  readonly repository: string;
  /** The repository, with a token for it and the rights of this message. */
  readonly at: ForgeRepository;
  readonly host: SendHost;
  /** Path of a repository in the API of GitHub, for what no other forge has. */
  readonly path: string;
  /** Makes one call with the same token. */
  readonly call: (call: RestCall) => Promise<RestAnswer>;
  /**
   * The same token by itself.
   *
   * @throws {AppError} `refused`, `overloaded`.
   */
  readonly token: () => Promise<string>;
  /** Counts a request that changes something, for those that go past `call`. */
  readonly wrote: () => void;
  /**
   * Id of the user as which the Connection writes, asked for once in a try; `undefined` if the API does
   * not say. To be known before the event of what is sent comes, which can overtake the answer.
   */
  readonly ownUser: () => Promise<string | undefined>;
}

/** What is special about a kind of messages to forges. */
interface ForgeKind extends Pick<MessageKind, "again" | "isReplaced" | "needsPack"> {
  /** The output that it carries out. */
  readonly output: OutputName;
  /** Where only some forges have it; all if absent. */
  readonly forges?: readonly ForgeName[];
  readonly send: (sending: ForgeSending) => Promise<SendResult>;
  readonly find?: (sending: ForgeSending) => Promise<FindResult>;
}

/** Name of the kind of messages that carries out an output at a forge, such as `github-comment`. */
export function kindName(forge: ForgeName, output: OutputName): string {
  return `${forge}-${output === "react" ? "reaction" : output}`;
}

/** The forge to which messages of a kind go; `undefined` for those that go elsewhere. */
export function forgeOfKind(kind: string): ForgeName | undefined {
  return FORGES.find((forge) => kind.startsWith(`${forge}-`));
}

/** A kind of messages to forges, once for each of them. */
export function forgeKind(
  { output, forges = FORGES, send, find, ...kind }: ForgeKind,
): readonly MessageKind[] {
  return forges.map((name) => {
    const forge = FORGES_BY_NAME[name];
    const to = { forge, output };
    return {
      ...kind,
      name: kindName(forge.name, output),
      way: (message, catalog) => findWay(message, to, catalog).name,
      rates: RATES,
      send: viaForge(to, send),
      ...find === undefined ? {} : { find: viaForge(to, find) },
    };
  });
}

/** What a kind of messages does, and where. */
interface SentTo {
  readonly forge: Forge;
  readonly output: OutputName;
}

/** A `send` or `find` of a kind: finds the Connection of the message, and makes errors results. */
function viaForge<Result>(
  to: SentTo,
  work: (sending: ForgeSending) => Promise<Result>,
): (claimed: ClaimedMessage, host: SendHost) => Promise<Result | NotSent> {
  return async (claimed, host) => {
    let writes = 0;
    try {
      const sending = toSending(to, claimed, host, () => void writes++);
      // Elsewhere some events have room for no marker: their user alone tells that they are svc's.
      if (to.forge.name !== "github") await sending.ownUser();
      return { ...await work(sending), writes };
    } catch (error) {
      const result = error instanceof CallFailed
        ? resultOfFailure(error.failure)
        : resultOfError(error);
      return { ...result, writes };
    }
  };
}

/** Does something for a caller at the terminal: a call that failed is an {@linkcode AppError}. */
export async function asAppError<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof CallFailed ? apiError(error.failure) : error;
  }
}

function resultOfFailure({ kind, message, retryAfterSecs }: RestFailure): NotSent {
  if (kind === "refused") return { result: "refused", reason: message };
  return {
    result: "later",
    reason: message,
    mayHaveArrived: kind === "lost",
    ...defined({ afterSecs: retryAfterSecs }),
  };
}

function toSending(
  to: SentTo,
  claimed: ClaimedMessage,
  host: SendHost,
  wrote: () => void,
): ForgeSending {
  const { message } = claimed;
  const { forge } = to;
  const connection = findWay(message, to, host.catalog);
  const repository = String(message.target["repository"]);
  const rights = rightsOfMessage(message);
  const access = host.forgeTokens.access(connection, { repository, rights }, host.signal);
  const call = (request: RestCall) => {
    if ((request.method ?? "GET") !== "GET") wrote();
    return forge.call(access, request);
  };
  const at = forge.open({ connection, repository, call, clock: host.clock });
  const token = async () => await access.token();
  const path = `/repos/${repository}`;
  let own: Promise<string | undefined> | undefined;
  const ownUser = () => own ??= findOwnUser({ connection, at, host, token });
  return { ...claimed, connection, forge, repository, at, host, path, call, token, wrote, ownUser };
}

/**
 * The Connection of a message, which has a token at present. A message that was stored when there was no
 * Connection gets the Connection of its trigger.
 *
 * @throws {AppError} `refused`.
 */
function findWay(
  { project, connection, target, body }: OutboxMessage,
  { forge, output }: SentTo,
  catalog: Catalog,
): Connection {
  const repository = String(target["repository"]);
  const found = connection === ""
    ? findForgeFor(
      { forge: forge.name, project, repository, trigger: String(body["trigger"]) },
      catalog,
    )
    : catalog.find<ConnectionSpec>("Connection", project, connection);
  if (found === undefined) {
    const message = `Connection "${connection}" in project "${project}" no longer exists`;
    throw new AppError(
      "refused",
      `${message}: make it with svc connect ${forge.name} ${repository}`,
    );
  }
  // An admin may have removed the repository since the message was stored.
  if (platformOfConnection(found.spec) !== forge.name || !mayAnswerTo(found.spec, repository)) {
    const said = `Connection "${found.name}" no longer covers ${repository}`;
    throw new AppError("refused", `${said}: add it to its allow.targets if answers may go there`);
  }
  const closed = findCeiling(output, found);
  if (closed !== undefined) throw new AppError("refused", closed);
  checkForgeToken(found, catalog);
  return found;
}

/**
 * The Connection through which tasks of a trigger are answered.
 *
 * @throws {AppError} `refused` if there is none, or there are several.
 */
export function findForgeFor(
  { forge, project, repository, trigger }: {
    readonly forge: ForgeName;
    readonly project: string;
    readonly repository: string;
    readonly trigger: string;
  },
  catalog: Catalog,
): Connection {
  const spec = catalog.find<TriggerSpec>("Trigger", project, trigger)?.spec;
  const named = spec?.event.webhook?.connection;
  return findConnection(
    { project, platform: forge, repository, ...defined({ named }) },
    catalog,
  );
}

/** The issue or pull that a subject names, in the target of a message. */
export function threadTarget(
  { forge, number, isPull }: Pick<ForgeSubject, "forge" | "number" | "isPull">,
): { readonly number: number; readonly on?: "issue" | typeof PULL_THREAD } | undefined {
  if (number === undefined) return undefined;
  if (forge === "github") return { number }; // it numbers issues and pull requests together
  return { number, on: isPull ? PULL_THREAD : "issue" };
}

/** The issue or pull of a message. */
export function threadOf({ message: { target } }: Pick<ForgeSending, "message">): Thread {
  return { number: Number(target["number"]), isPull: target["on"] === PULL_THREAD };
}

/** Where the marker of a message stands that is about an issue or a pull. */
export function placeOf(sending: ForgeSending): MarkedPlace {
  return { ...markedIn(sending), ...threadOf(sending) };
}

/** The repository in which the marker of a message stands. */
export function markedIn(
  { message: { project }, forge, repository }: ForgeSending,
): MarkedRepository {
  return { project, forge: forge.name, repository };
}

/**
 * Id of the user as which the Connection writes, fetched once for each personal token: that of a project
 * at GitLab has a user of its own. `undefined` if the API does not say.
 */
async function findOwnUser(
  { connection, at, host, token: readToken }: Pick<
    ForgeSending,
    "connection" | "at" | "host" | "token"
  >,
): Promise<string | undefined> {
  const { ownUsers } = host;
  const known = ownUsers.find(connection);
  if (connection.spec.github?.app !== undefined) {
    return known ?? (await readOwnUser({ connection, at, host }))?.userId;
  }
  const token = await readToken();
  if (known !== undefined && ownUsers.isOfToken(connection, token)) return known;
  const user = await at.readOwnUser();
  if (user !== undefined) await ownUsers.learn(connection, user, token);
  return user?.userId ?? known;
}

/** The user as which the Connection writes, asked for and remembered; `undefined` as above. */
export async function readOwnUser(
  { connection, at, host: { ownUsers } }: {
    readonly connection: Connection;
    readonly at: Pick<ForgeRepository, "readOwnUser">;
    readonly host: Pick<SendHost, "ownUsers">;
  },
): Promise<ForgeUser | undefined> {
  const user = await at.readOwnUser();
  if (user !== undefined) await ownUsers.learn(connection, user);
  return user;
}

/** Whether a text is by svc's own user; true if that user is not known. */
export function isByUser(
  { userId }: { readonly userId: string },
  own: string | undefined,
): boolean {
  return own === undefined || userId === own; // the MAC of the marker proves enough
}

/**
 * Refuses labels that the repository does not have: a forge would make them.
 *
 * @throws {AppError} `refused`; {@linkcode CallFailed}.
 */
export async function mustHaveLabels(
  labels: readonly string[],
  { at, repository }: ForgeSending,
): Promise<void> {
  for (const label of labels) {
    if (await at.hasLabel(label)) continue;
    const said = `${repository} has no label "${label}"`;
    throw new AppError("refused", `${said}: make it there, then send this again`);
  }
}
