/**
 * Who may start a task with an event of GitHub, asked of GitHub: the API knows what somebody may do
 * now, a payload only what he is. Whatever is not certain is a no.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { isRepository } from "../base/github_names.ts";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import type { Catalog } from "../resources/catalog.ts";
import { apiUrlOf } from "../resources/connection.ts";
import { guardReason } from "../resources/sender_guard.ts";
import type { SenderCheck, SenderQuestion, SenderRefusal } from "../tasks/sender_check.ts";
import { type Connection, findConnection, readToken, repositoryOf } from "./find_connection.ts";
import { callGitHub, type GitHubAnswer, type GitHubFailure } from "./github/github_client.ts";
import { changeSince, type CheckedText, checkedTexts } from "./github/checked_text.ts";

/** What the check needs. */
export interface SenderPermissionsHost {
  readonly catalog: Catalog;
  readonly clock: Clock;
}

/** How long an answer counts. */
const REMEMBERED_MS = 5 * 60_000;
/** Most answers that are kept. */
const MOST = 1000;
/** Pauses before a call that had no answer is made again. */
const AGAIN_MS: readonly number[] = [2000, 10_000];
/** What may write. GitHub says `maintain` as `write`; the owner of a repository at Gitea is `owner`. */
const MAY_WRITE: ReadonlySet<unknown> = new Set(["write", "maintain", "admin", "owner"]);

/** A login as a path can hold it: with the mark of an App behind it. */
const LOGIN = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$/;
const BOT = /\[bot\]$/;

/** An answer, for a while. */
interface Remembered {
  readonly until: number;
  readonly mayWrite: boolean;
  /** Why they may not, where it is not for their permission. */
  readonly why?: string;
}

/** Makes one call over the Connection of a question. */
type Call = (path: string) => Promise<GitHubAnswer>;

/** Asks GitHub who may write, and remembers the answers for some minutes. */
export class SenderPermissions implements SenderCheck {
  readonly #host: SenderPermissionsHost;
  readonly #known = new Map<string, Remembered>();

  constructor(host: SenderPermissionsHost) {
    this.#host = host;
  }

  /** Why the event may start nothing; `undefined` where it may. Never rejects. */
  async whyNot(
    question: SenderQuestion,
    signal: AbortSignal,
  ): Promise<SenderRefusal | undefined> {
    try {
      return await this.#whyNot(question, signal);
    } catch (error) {
      const said = error instanceof AppError ? error.message : "Internal error";
      return unanswered(said);
    }
  }

  async #whyNot(
    { project, guard: { connection: named }, payload, coverage }: SenderQuestion,
    signal: AbortSignal,
  ): Promise<SenderRefusal | undefined> {
    if (coverage.payload !== "all" || !isJsonObject(payload)) {
      return no("No signature covers the payload, so svc cannot know whose event it is");
    }
    const who = member(payload, "sender");
    const login = who?.["login"];
    const repository = repositoryOf(payload);
    if (who === undefined || typeof login !== "string") {
      return no("The payload does not say whose event it is (sender.login)");
    }
    if (BOT.test(login) || who["type"] === "Bot") return no(`${login} is a bot`);
    if (!LOGIN.test(login)) return no("The login in the payload cannot be a person's");
    if (repository === undefined || !isRepository(repository)) {
      return no("The payload does not say which repository it is about");
    }
    const wanted = { project, platform: "github" as const, repository };
    const connection = findConnection(
      named === undefined ? wanted : { ...wanted, named },
      this.#host.catalog,
    );
    const call: Call = (path) => this.#call(connection, path, signal);
    const refusal = isOwner(payload, who)
      ? undefined
      : await this.#askPermission({ connection, repository, who, login }, call);
    return refusal ?? await askForChanges(checkedTexts(payload), repository, call);
  }

  async #askPermission(
    { connection, repository, who, login }: {
      readonly connection: Connection;
      readonly repository: string;
      readonly who: JsonObject;
      readonly login: string;
    },
    call: Call,
  ): Promise<SenderRefusal | undefined> {
    const { clock } = this.#host;
    const key = JSON.stringify([apiUrlOf(connection.spec), repository, login, who["id"]]);
    const known = this.#known.get(key);
    if (known !== undefined && known.until > clock.now()) return judge(known, login, repository);
    const answer = await call(`/repos/${repository}/collaborators/${login}/permission`);
    if (!answer.ok) return unanswered(answer.message);
    const data = isJsonObject(answer.data) ? answer.data : {};
    // Somebody else may have the login by now.
    const id = member(data, "user")?.["id"];
    const isSame = id === undefined || who["id"] === undefined || id === who["id"];
    const found = {
      until: clock.now() + REMEMBERED_MS,
      mayWrite: isSame && MAY_WRITE.has(data["permission"]),
      ...(isSame ? {} : { why: "another user has that login now" }),
    };
    if (this.#known.size >= MOST) this.#known.clear();
    this.#known.set(key, found);
    return judge(found, login, repository);
  }

  /** One call; made again while there is no answer. */
  async #call(connection: Connection, path: string, signal: AbortSignal): Promise<GitHubAnswer> {
    const { catalog, clock } = this.#host;
    const { github } = connection.spec;
    if (github === undefined) throw new AppError("refused", "The Connection is not to GitHub");
    const access = {
      api: apiUrlOf(connection.spec),
      token: () => readToken(connection, github.token, catalog),
      clock,
      signal,
    };
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

function isGone({ status }: GitHubFailure): boolean {
  return status === 404 || status === 410;
}

/**
 * Whether the payload says that the sender owns the repository. What else it says of them is no answer:
 * a member or a collaborator may be one who can only read.
 */
function isOwner(payload: JsonObject, who: JsonObject): boolean {
  const text = member(payload, "comment") ?? member(payload, "review") ??
    member(payload, "pull_request") ?? member(payload, "issue");
  const author = text === undefined ? undefined : member(text, "user");
  return text?.["author_association"] === "OWNER" && author !== undefined &&
    author["id"] !== undefined && author["id"] === who["id"];
}

function judge(
  { mayWrite, why }: Remembered,
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
  const found = value[name];
  return isJsonObject(found) ? found : undefined;
}
