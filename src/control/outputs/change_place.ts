/**
 * Where a change of files goes: the repository, the Connection and what the event of its task is about;
 * and whether its task may do that at all.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import type { Connection } from "../../connections/find_connection.ts";
import type { RestCall } from "../../connections/api/rest.ts";
import { FORGE_WORDS } from "../../base/forge_names.ts";
import { isJsonObject } from "../../base/json.ts";
import type { Asker, Forge, ForgeSubject, ForgeUser } from "../../connections/api/forge.ts";
import type { ForgeTokens } from "../../connections/forge_tokens.ts";
import { findSubject, FORGES_BY_NAME } from "../../connections/forges.ts";
import type { OwnUsers } from "../../connections/own_users.ts";
import { limitsFor, type LimitsOf } from "../../outputs/may_rules.ts";
import { refuseOther } from "../../outbox/answer_drafts.ts";
import { findForgeFor, kindName, readOwnUser } from "../../outbox/forge_access.ts";
import { rightsOfMessage } from "../../outbox/github_rights.ts";
import type { PullSearch } from "../../outbox/pulls.ts";
import type { Markers } from "../../outbox/marker.ts";
import { type AnswerSources, findOrigin, payloadOf } from "../../outbox/origin.ts";
import type { Task } from "../../store/task_records.ts";
import type { TaskStore } from "../../store/task_store.ts";
import { findTask } from "../records/records.ts";
import { type AskedOf, outputAsked } from "./output_asked.ts";

/** What finding the place of a change needs. */
export interface PlaceHost extends AnswerSources {
  readonly store: AnswerSources["store"] & TaskStore;
  readonly clock: Clock;
  readonly markers: Markers;
  readonly ownUsers: OwnUsers;
  readonly forgeTokens: ForgeTokens;
}

/** Where a change goes. */
export interface ChangePlace<Name extends "pull" | "push"> extends PullSearch {
  readonly task: Task;
  readonly limits: LimitsOf[Name];
  readonly connection: Connection;
  /** What the event is about, where that is in the same repository. */
  readonly subject: ForgeSubject | undefined;
  readonly asker: Asker | undefined;
  /** Whether svc has checked that this person may write to the repository. */
  readonly isChecked: boolean;
  /** The user as which svc writes; absent if the API does not say. */
  readonly own: ForgeUser | undefined;
}

/**
 * The place of a change that a caller asks for.
 *
 * @throws {AppError} `refused` if the task may not do it or there is no such place, `forbidden`.
 */
export async function findPlace<Name extends "pull" | "push">(
  { forge: name, input: { task: id }, caller }: AskedOf<{ readonly task: string }>,
  output: Name,
  host: PlaceHost,
): Promise<ChangePlace<Name>> {
  const task = await findTask(id, host.store);
  const asked = await outputAsked(task, { forge: name, caller }, host.store);
  const declared = limitsFor(output, asked);
  const origin = await findOrigin(task, findSubject, host.store);
  refuseOther(task, origin?.found, name);
  const about = origin?.found;
  const named = output === "pull" ? (declared as LimitsOf["pull"]).repository : undefined;
  const repository = named ?? about?.repository;
  if (repository === undefined) {
    const message =
      `Task ${task.id} did not come from an event of ${
        FORGE_WORDS[name].title
      }: write repository ` +
      `under may.${name}.${output} of Workflow "${task.workflow}"`;
    throw new AppError("refused", message);
  }
  const { trigger } = origin?.task ?? task;
  const connection = findForgeFor(
    { forge: name, project: task.project, trigger, repository },
    host.catalog,
  );
  const limits = limitsFor(output, { ...asked, connection });
  const forge = FORGES_BY_NAME[name];
  const search = searchIn({ project: task.project, output, connection, forge, repository }, host);
  const isSame = about?.repository.toLowerCase() === repository.toLowerCase();
  const own = await readOwnUser({ connection, at: search.at, host });
  const payload = about && origin && payloadOf(origin.delivery);
  const asker = about && forge.findAsker(payload);
  if (output === "pull" && about !== undefined) {
    const isOwn = own === undefined || asker !== undefined && host.ownUsers.isOwn(asker.id);
    const key = isOwn
      ? ownPullIn(payload, { about, forge, project: task.project }, host)
      : undefined;
    if (key !== undefined) throw startedByPull(task, key, forge);
  }
  return {
    ...search,
    task,
    limits,
    connection,
    subject: isSame ? about : undefined,
    asker,
    isChecked: asked.plan?.from?.permission === "write",
    own,
  };
}

/** The key of svc's own pull that an event is about; `undefined` for any other event. */
function ownPullIn(
  payload: unknown,
  { about, forge, project }: {
    readonly about: ForgeSubject;
    readonly forge: Forge;
    readonly project: string;
  },
  { markers }: Pick<PlaceHost, "markers">,
): string | undefined {
  const doing = isJsonObject(payload) ? forge.findDoing(payload) : undefined;
  if (doing?.what !== "pull") return undefined;
  const { repository } = about;
  const place = { forge: forge.name, project, repository, branch: doing.branch };
  return markers.findPull(doing.body, place)?.key;
}

/** Two triggers that get each other's pulls would open them without end. */
function startedByPull({ id }: Task, key: string, { words }: Forge): AppError {
  const message =
    `Task ${id} was started by svc's own ${words.pull} "${key}", so it opens no other`;
  return new AppError("refused", message);
}

function searchIn(
  { project, output, connection, forge, repository }: {
    readonly project: string;
    readonly output: "pull" | "push";
    readonly connection: Connection;
    readonly forge: Forge;
    readonly repository: string;
  },
  host: PlaceHost,
): PullSearch {
  const rights = rightsOfMessage({ kind: kindName(forge.name, output), target: {}, body: {} });
  const access = host.forgeTokens.access(connection, { repository, rights });
  const call = (request: RestCall) => forge.call(access, request);
  const at = forge.open({ connection, repository, call, clock: host.clock });
  return { forge, at, repository, message: { project }, host };
}
