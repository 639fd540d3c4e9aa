/**
 * `svc github checks`, `svc gitlab checks`: how a commit of the repository of a task stands. It reads with
 * the token of the Connection, so `may` has to allow it.
 *
 * @module
 */

import type { CommitChecks } from "../../api/may_operations.ts";
import { AppError } from "../../base/errors.ts";
import { type CheckState, FORGE_WORDS, isSha, stateOfChecks } from "../../base/forge_names.ts";
import type { Clock } from "../../base/clock.ts";
import type { FoundCheck } from "../../connections/api/forge.ts";
import type { ForgeTokens } from "../../connections/forge_tokens.ts";
import { FORGES_BY_NAME } from "../../connections/forges.ts";
import type { RestCall } from "../../connections/api/rest.ts";
import { forgeOfTask } from "../../outbox/answer_drafts.ts";
import { asAppError, kindName } from "../../outbox/forge_access.ts";
import { rightsOfMessage } from "../../outbox/github_rights.ts";
import type { AnswerSources } from "../../outbox/origin.ts";
import { outputAddressOf } from "../../outbox/output_drafts.ts";
import { limitsFor } from "../../outputs/may_rules.ts";
import { MESSAGES_OF_TASK } from "../../store/outbox_records.ts";
import type { OutboxStore } from "../../store/outbox_store.ts";
import type { Task } from "../../store/task_records.ts";
import type { TaskStore } from "../../store/task_store.ts";
import { findTask } from "../records/records.ts";
import { type AskedOf, outputAsked } from "./output_asked.ts";
import { repositoryIn } from "./task_may.ts";

/** What reading checks needs. */
export interface ChecksHost extends AnswerSources {
  readonly store: AnswerSources["store"] & Pick<OutboxStore, "listMessages">;
  readonly clock: Clock;
  readonly forgeTokens: ForgeTokens;
}

/** Most checks in an answer. */
const MOST = 50;

/** Most tasks whose names are left out: 16 can be above one, and each may be a retry. */
const MOST_TASKS = 64;

const ORDER: readonly CheckState[] = ["red", "pending", "green"];

/**
 * How a commit stands.
 *
 * @throws {AppError} `invalid` for what is no id of a commit; `not_found` for one that the forge does not
 * know; `refused` if the task may not read it or there is no such place, `overloaded`.
 */
export async function commitChecks(
  { forge: name, input: { task: id, commit }, caller }: AskedOf<
    { readonly task: string; readonly commit: string }
  >,
  host: ChecksHost,
): Promise<CommitChecks> {
  const isWhole: boolean = isSha(commit);
  if (!isWhole) {
    throw new AppError(
      "invalid",
      `"${commit.slice(0, 100)}" is not the whole id of a commit: give its 40 digits, as ` +
        "git rev-parse does",
    );
  }
  const task = await findTask(id, host.store);
  const asked = await outputAsked(task, { forge: name, caller }, host.store);
  limitsFor("checks", asked);
  const isOfEvent = await forgeOfTask(task, host.store) !== undefined;
  const named = isOfEvent ? undefined : repositoryIn(asked.plan?.may, name);
  const { repository, connection } = await outputAddressOf(task, { forge: name, named }, host);
  limitsFor("checks", { ...asked, connection });
  const forge = FORGES_BY_NAME[name];
  const rights = rightsOfMessage({ kind: kindName(name, "checks"), target: {}, body: {} });
  const access = host.forgeTokens.access(connection, { repository, rights });
  const call = (request: RestCall) => forge.call(access, request);
  const at = forge.open({ connection, repository, call, clock: host.clock });
  const [found, own] = await Promise.all([
    asAppError(() => at.checksOf(commit)),
    namesSetFor(task, host),
  ]);
  if (found === undefined) {
    const { title } = FORGE_WORDS[name];
    throw new AppError(
      "not_found",
      `${title} knows no commit ${commit} in ${repository}, or the token of Connection ` +
        `"${connection.name}" may not see it`,
    );
  }
  const counted = found.filter((check) => !(check.isSettable && own.has(check.name)));
  return {
    task_id: task.id,
    repository,
    commit,
    state: stateOfChecks(counted),
    counts: { green: 0, red: 0, pending: 0, ...countsOf(counted) },
    checks: counted.toSorted((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state))
      .slice(0, MOST)
      .map(({ name, state, said, url }) => ({ name, state, said, url: url === "" ? null : url })),
  };
}

/**
 * The names of statuses and check runs that a task has set, or one that it retries, or one above it: those
 * end when it has ended, so it would wait for itself.
 */
async function namesSetFor(task: Task, { store }: ChecksHost): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  for (const taskId of await sameWork(task, store)) {
    const messages = await store.listMessages({ taskId, limit: MESSAGES_OF_TASK });
    for (const { kind, target: { context, name } } of messages) {
      const set = kind.endsWith("-status") ? context : kind === "github-check" ? name : undefined;
      if (typeof set === "string") names.add(set);
    }
  }
  return names;
}

/** The ids of a task, the tasks that it retries and those above it, up to the one at the top. */
async function sameWork(
  task: Task,
  store: Pick<TaskStore, "findTasks">,
): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  let level: readonly Task[] = [task];
  while (level.length > 0) {
    for (const { id } of level) ids.add(id);
    const before = level.flatMap(({ retryOf, rootId, parentId }) =>
      rootId === "" ? [retryOf] : [retryOf, parentId, rootId] // the parent of others is no task above
    );
    const next = new Set(before.filter((id) => id !== "" && !ids.has(id)));
    if (ids.size + next.size > MOST_TASKS) break;
    level = (await Promise.all([...next].map((id) => store.findTasks(id)))).flat();
  }
  return ids;
}

function countsOf(checks: readonly FoundCheck[]): Partial<Record<CheckState, number>> {
  const groups = Object.entries(Object.groupBy(checks, ({ state }) => state));
  return Object.fromEntries(groups.map(([state, all]) => [state, all.length]));
}
