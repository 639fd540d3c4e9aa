/**
 * Asks a forge who may start a task with an event: the API knows the sender's present rights, a payload
 * only the sender's role. Anything uncertain is a refusal.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import { isJsonObject } from "../base/json.ts";
import type { Catalog } from "../resources/catalog.ts";
import { apiUrlOf } from "../resources/connection.ts";
import { guardReason } from "../resources/sender_guard.ts";
import type { SenderCheck, SenderQuestion, SenderRefusal } from "../tasks/sender_check.ts";
import type { ApiAccess } from "./api/api_call.ts";
import {
  type Asker,
  CallFailed,
  type CheckedText,
  type Forge,
  type ForgeRepository,
  type Permission,
} from "./api/forge.ts";
import type { RestAnswer, RestCall } from "./api/rest.ts";
import { findConnection } from "./find_connection.ts";
import type { ForgeTokens } from "./forge_tokens.ts";
import { findSubject, FORGES_BY_NAME } from "./forges.ts";

/** How long an answer is used again. */
const REMEMBERED_MS = 5 * 60_000;
/** Most answers that are kept. */
const MOST = 1000;
/** Pauses before a call without an answer is repeated. */
const AGAIN_MS: readonly number[] = [2000, 10_000];

/** An answer of a forge that is used until a time, in milliseconds since the epoch. */
interface KnownPermission extends Permission {
  readonly until: number;
}

/** What an App needs to be asked who may write, and to read what an event is about. */
export const READING_RIGHTS = {
  needs: { metadata: "read" },
  likes: { contents: "read", issues: "read", pull_requests: "read" },
} as const;

/** Who asks, where. */
interface Place {
  readonly forge: Forge;
  /** Base URL of the API. */
  readonly api: string;
  readonly repository: string;
  readonly at: ForgeRepository;
}

/** The state of the daemon that a question needs. */
export interface SenderPermissionsHost {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly forgeTokens: ForgeTokens;
}

/** Asks the forge of an event who may write, and uses the answers for some minutes. */
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
      const isAnswer = error instanceof AppError || error instanceof CallFailed;
      return unanswered(isAnswer ? error.message : "Internal error");
    }
  }

  async #whyNot(
    { project, guard: { connection: named }, payload, coverage }: SenderQuestion,
    signal: AbortSignal,
  ): Promise<SenderRefusal | undefined> {
    const subject = findSubject(payload);
    if (coverage.payload !== "all" || !isJsonObject(payload)) {
      const help = subject?.forge === "gitlab"
        ? ": give the webhook at GitLab a signing token (whsec_…)"
        : "";
      return no(`No signature covers the payload, so svc cannot know whose event it is${help}`);
    }
    if (subject === undefined) {
      return no("The payload does not say which repository it is about");
    }
    const forge = FORGES_BY_NAME[subject.forge];
    const asker = forge.findAsker(payload);
    if (asker === undefined) return no("The payload does not say whose event it is");
    if (asker.isBot) return no(`${asker.login || "The sender"} is a bot`);
    if (asker.login === "") return no("The login in the payload cannot be a person's");
    const { repository } = subject;
    const connection = findConnection(
      { project, platform: forge.name, repository, ...defined({ named }) },
      this.#catalog,
    );
    const access = this.#tokens.access(connection, { repository, rights: READING_RIGHTS }, signal);
    const call = (request: RestCall) => this.#call(forge, access, request, signal);
    const at = forge.open({ connection, repository, call, clock: this.#clock });
    const place = { forge, api: apiUrlOf(connection.spec), repository, at };
    const refusal = forge.isByOwner(payload) ? undefined : await this.#askPermission(asker, place);
    return refusal ?? await askForChanges(forge.checkedTexts(payload), at);
  }

  async #askPermission(asker: Asker, place: Place): Promise<SenderRefusal | undefined> {
    const { forge, api, repository, at } = place;
    const { login, id } = asker;
    const key = JSON.stringify([forge.name, api, repository, login, id]);
    const known = this.#known.get(key);
    if (known !== undefined && known.until > this.#clock.now()) {
      return judge(known, login, repository);
    }
    const permission = await at.permissionOf(asker);
    if (this.#known.size >= MOST) this.#known.clear();
    this.#known.set(key, { ...permission, until: this.#clock.now() + REMEMBERED_MS });
    return judge(permission, login, repository);
  }

  /** Makes a call, and repeats it while there is no answer. */
  async #call(
    forge: Forge,
    access: ApiAccess,
    request: RestCall,
    signal: AbortSignal,
  ): Promise<RestAnswer> {
    for (const pauseMs of AGAIN_MS) {
      const answer = await forge.call(access, request);
      if (answer.ok || answer.kind !== "unavailable" || signal.aborted) return answer;
      await this.#clock.pause(pauseMs, signal);
    }
    return await forge.call(access, request);
  }
}

async function askForChanges(
  texts: readonly CheckedText[],
  at: ForgeRepository,
): Promise<SenderRefusal | undefined> {
  for (const text of texts) {
    const now = await at.readText(text);
    if (now === text.was) continue;
    const change = now === undefined ? "was deleted" : "was changed";
    return no(`${text.what} ${change} after the event was sent`);
  }
  return undefined;
}

function judge(
  { mayWrite, why }: Permission,
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
