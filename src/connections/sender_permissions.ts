/**
 * Asks GitHub who may start a task with an event: the API knows the sender's present rights, a payload
 * only the sender's role. Anything uncertain is a refusal.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import { isRepository } from "../base/github_names.ts";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import type { Catalog } from "../resources/catalog.ts";
import { apiUrlOf } from "../resources/connection.ts";
import { guardReason } from "../resources/sender_guard.ts";
import type { SenderCheck, SenderQuestion, SenderRefusal } from "../tasks/sender_check.ts";
import { type Connection, findConnection, repositoryOf } from "./find_connection.ts";
import type { ForgeTokens } from "./forge_tokens.ts";
import type { ApiAccess } from "./api/api_call.ts";
import { callGitHub } from "./github/github_client.ts";
import type { RestAnswer, RestFailure } from "./api/rest.ts";
import type { CheckedText } from "./api/forge.ts";
import { checkedTexts } from "./github/subject.ts";

/** How long an answer is used again. */
const REMEMBERED_MS = 5 * 60_000;
/** Most answers that are kept. */
const MOST = 1000;
/** Pauses before a call without an answer is repeated. */
const AGAIN_MS: readonly number[] = [2000, 10_000];
/** Permissions to write. GitHub reports `maintain` as `write`; Gitea has `owner`. */
const MAY_WRITE: ReadonlySet<unknown> = new Set(["write", "maintain", "admin", "owner"]);

/** Form of the logins that a path can hold. */
const LOGIN = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$/;
/** The end of an App's login. */
const BOT = /\[bot\]$/;

/** An answer of GitHub that is used until a time, in milliseconds since the epoch. */
interface KnownPermission {
  readonly until: number;
  readonly mayWrite: boolean;
  /** Another reason than the permission why they may not. */
  readonly why?: string;
}

/** What an App needs to be asked, and to read what an event is about. */
const RIGHTS = {
  needs: { metadata: "read" },
  likes: { contents: "read", issues: "read", pull_requests: "read" },
} as const;

/** Makes a call through the Connection of a question. */
type Call = (path: string) => Promise<RestAnswer>;

/** The state of the daemon that a question needs. */
export interface SenderPermissionsHost {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly forgeTokens: ForgeTokens;
}

/** Asks GitHub who may write, and uses the answers for some minutes. */
export class SenderPermissions implements SenderCheck {
  readonly #catalog: Catalog;
  readonly #clock: Clock;
  readonly #tokens: ForgeTokens;
  readonly #known = new Map<string, KnownPermission>();

  constructor({ catalog, clock, forgeTokens }: SenderPermissionsHost) {
    this.#catalog = catalog;
    this.#clock = clock;
    this.#tokens = forgeTokens;
  }

  /** Why the event may not start a task; `undefined` if it may. Never rejects. */
  async whyNot(
    question: SenderQuestion,
    signal: AbortSignal,
  ): Promise<SenderRefusal | undefined> {
    try {
      return await this.#whyNot(question, signal);
    } catch (error) {
      return unanswered(error instanceof AppError ? error.message : "Internal error");
    }
  }

  async #whyNot(
    { project, guard: { connection: named }, payload, coverage }: SenderQuestion,
    signal: AbortSignal,
  ): Promise<SenderRefusal | undefined> {
    if (coverage.payload !== "all" || !isJsonObject(payload)) {
      return no("No signature covers the payload, so svc cannot know whose event it is");
    }
    const sender = member(payload, "sender");
    const login = sender?.["login"];
    const repository = repositoryOf(payload);
    if (sender === undefined || typeof login !== "string") {
      return no("The payload does not say whose event it is (sender.login)");
    }
    if (BOT.test(login) || sender["type"] === "Bot") return no(`${login} is a bot`);
    if (!LOGIN.test(login)) return no("The login in the payload cannot be a person's");
    if (repository === undefined || !isRepository(repository)) {
      return no("The payload does not say which repository it is about");
    }
    const connection = findConnection(
      { project, platform: "github", repository, ...defined({ named }) },
      this.#catalog,
    );
    const access = this.#tokens.access(connection, { repository, rights: RIGHTS }, signal);
    const call: Call = (path) => this.#call(access, path, signal);
    const refusal = isOwner(payload, sender)
      ? undefined
      : await this.#askPermission({ connection, repository, sender, login }, call);
    return refusal ?? await askForChanges(checkedTexts(payload), repository, call);
  }

  async #askPermission(
    { connection, repository, sender, login }: {
      readonly connection: Connection;
      readonly repository: string;
      readonly sender: JsonObject;
      readonly login: string;
    },
    call: Call,
  ): Promise<SenderRefusal | undefined> {
    const now = this.#clock.now();
    const key = JSON.stringify([apiUrlOf(connection.spec), repository, login, sender["id"]]);
    const known = this.#known.get(key);
    if (known !== undefined && known.until > now) return judge(known, login, repository);
    const answer = await call(`/repos/${repository}/collaborators/${login}/permission`);
    if (!answer.ok) return unanswered(answer.message);
    const data = isJsonObject(answer.data) ? answer.data : {};
    // The login may belong to another user by now.
    const id = member(data, "user")?.["id"];
    const isSame = id === undefined || sender["id"] === undefined || id === sender["id"];
    const permission = {
      until: this.#clock.now() + REMEMBERED_MS,
      mayWrite: isSame && MAY_WRITE.has(data["permission"]),
      ...defined({ why: isSame ? undefined : "another user has that login now" }),
    };
    if (this.#known.size >= MOST) this.#known.clear();
    this.#known.set(key, permission);
    return judge(permission, login, repository);
  }

  /** Makes a call, and repeats it while there is no answer. */
  async #call(access: ApiAccess, path: string, signal: AbortSignal): Promise<RestAnswer> {
    const clock = this.#clock;
    for (const pauseMs of AGAIN_MS) {
      const answer = await callGitHub(access, { path });
      if (answer.ok || answer.kind !== "unavailable" || signal.aborted) return answer;
      await clock.pause(pauseMs, signal);
    }
    return await callGitHub(access, { path });
  }
}

async function askForChanges(
  texts: readonly CheckedText[],
  repository: string,
  call: Call,
): Promise<SenderRefusal | undefined> {
  for (const text of texts) {
    const answer = await call(`/repos/${repository}${text.path}`);
    if (!answer.ok && !isGone(answer)) return unanswered(answer.message);
    const change = answer.ok ? changeSince(text, answer.data) : "was deleted";
    if (change !== undefined) return no(`${text.what} ${change} after the event was sent`);
  }
  return undefined;
}

/** The change since the event, as the end of a sentence; `undefined` for none. */
function changeSince({ field, was }: CheckedText, now: unknown): string | undefined {
  const text = field.reduce<unknown>(
    (at, name) => isJsonObject(at) && Object.hasOwn(at, name) ? at[name] : undefined,
    now,
  );
  return text === was ? undefined : "was changed";
}

function isGone({ status }: RestFailure): boolean {
  return status === 404 || status === 410;
}

/**
 * Whether the payload says that the sender owns the repository. Its other roles decide nothing: a
 * member or collaborator may have the right to read only.
 */
function isOwner(payload: JsonObject, sender: JsonObject): boolean {
  const text = member(payload, "comment") ?? member(payload, "review") ??
    member(payload, "pull_request") ?? member(payload, "issue");
  const author = text === undefined ? undefined : member(text, "user");
  return text?.["author_association"] === "OWNER" && author !== undefined &&
    author["id"] !== undefined && author["id"] === sender["id"];
}

function judge(
  { mayWrite, why }: KnownPermission,
  login: string,
  repository: string,
): SenderRefusal | undefined {
  if (mayWrite) return undefined;
  return no(`${login} may not write to ${repository}${why === undefined ? "" : `: ${why}`}`);
}

function no(why: string): SenderRefusal {
  return { state: "cancelled", reason: guardReason("says", why) };
}

function unanswered(why: string): SenderRefusal {
  return { state: "failed", reason: guardReason("could not be checked", why) };
}

function member(value: JsonObject, name: string): JsonObject | undefined {
  const inner = value[name];
  return isJsonObject(inner) ? inner : undefined;
}
