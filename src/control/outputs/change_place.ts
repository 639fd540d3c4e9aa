/**
 * Where a change of files goes: the repository, the Connection and what the event of its task is about;
 * and whether its task may do that at all.
 *
 * @module
 */

import type { Caller } from "../../auth/caller.ts";
import type { Clock } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import type { Connection } from "../../connections/find_connection.ts";
import type { RestCall } from "../../connections/api/rest.ts";
import type { Asker, ForgeSubject } from "../../connections/api/forge.ts";
import type { ForgeTokens } from "../../connections/forge_tokens.ts";
import { findAsker, findSubject, forgeOf } from "../../connections/forges.ts";
import type { OwnUsers } from "../../connections/own_users.ts";
import { askingStep, limitsFor, type LimitsOf } from "../../outputs/may_rules.ts";
import { findForgeFor, readOwnUser } from "../../outbox/forge_access.ts";
import { rightsOfMessage } from "../../outbox/github_rights.ts";
import type { PullSearch } from "../../outbox/github_pulls.ts";
import type { Markers } from "../../outbox/marker.ts";
import { type AnswerSources, findOrigin, payloadOf } from "../../outbox/origin.ts";
import type { Task } from "../../store/task_records.ts";
import type { TaskStore } from "../../store/task_store.ts";
import type { Plan } from "../../tasks/plan.ts";
import { findTask } from "../records/records.ts";

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
  /** Id and login of the user as which svc writes; absent if the API does not say. */
  readonly own: { readonly userId: string; readonly login: string } | undefined;
}

/**
 * The place of a change that a caller asks for.
 *
 * @throws {AppError} `refused` if the task may not do it or there is no such place, `forbidden`.
 */
export async function findPlace<Name extends "pull" | "push">(
  { task: id, output }: { readonly task: string; readonly output: Name },
  caller: Caller,
  host: PlaceHost,
): Promise<ChangePlace<Name>> {
  const task = await findTask(id, host.store);
  const json = await host.store.findPlan(task.id);
  const plan = json === undefined ? undefined : JSON.parse(json) as Plan;
  const asked = {
    forge: "github",
    workflow: task.workflow,
    plan,
    step: askingStep(caller),
  } as const;
  const declared = limitsFor(output, asked);
  const origin = await findOrigin(task, findSubject, host.store);
  const about = origin?.found;
  const named = output === "pull" ? (declared as LimitsOf["pull"]).repository : undefined;
  const repository = named ?? about?.repository;
  if (repository === undefined) {
    const message =
      `Task ${task.id} did not come from an event of GitHub: write repository under ` +
      `may.github.${output} of Workflow "${task.workflow}"`;
    throw new AppError("refused", message);
  }
  const { trigger } = origin?.task ?? task;
  const connection = findForgeFor(
    { forge: "github", project: task.project, trigger, repository },
    host.catalog,
  );
  const limits = limitsFor(output, { ...asked, connection });
  const search = searchIn({ project: task.project, output, connection, repository }, host);
  const isSame = about?.repository.toLowerCase() === repository.toLowerCase();
  const own = await readOwnUser({ connection, at: search.at, host });
  return {
    ...search,
    task,
    limits,
    connection,
    subject: isSame ? about : undefined,
    asker: origin === undefined ? undefined : findAsker(payloadOf(origin.delivery)),
    isChecked: plan?.from?.permission === "write",
    own,
  };
}

function searchIn(
  { project, output, connection, repository }: {
    readonly project: string;
    readonly output: "pull" | "push";
    readonly connection: Connection;
    readonly repository: string;
  },
  host: PlaceHost,
): PullSearch {
  const rights = rightsOfMessage({ kind: `github-${output}`, target: {}, body: {} });
  const access = host.forgeTokens.access(connection, { repository, rights });
  const forge = forgeOf(connection);
  const call = (request: RestCall) => forge.call(access, request);
  const at = forge.open({ connection, repository, call, clock: host.clock });
  return { forge, at, call, path: `/repos/${repository}`, repository, message: { project }, host };
}
