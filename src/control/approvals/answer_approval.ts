/**
 * Answers the question of an approval, whichever way the answer came: from a command, the console, or a
 * message of a platform. The giver of an answer is told the truth, also the one who comes second.
 *
 * @module
 */

import type { Caller } from "../../auth/caller.ts";
import { findPerson, isStill, personNamed } from "../../auth/persons.ts";
import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import type { Role } from "../../base/roles.ts";
import { BY_SOCKET, groupIn } from "../../resources/approval.ts";
import type { Catalog } from "../../resources/catalog.ts";
import { PERSON_KIND, type PersonSpec } from "../../resources/person.ts";
import type {
  Answer,
  AnswerResult,
  AnswerSurface,
  Approval,
  StoredAnswer,
} from "../../store/approval_records.ts";
import type { Task } from "../../store/task_records.ts";
import type { TaskStore } from "../../store/task_store.ts";
import type { WaitStore } from "../../store/wait_store.ts";
import type { AuditLog } from "../records/audit_log.ts";
import { findTask } from "../records/records.ts";
import { isDigest, keptText, shortDigest } from "../../store/rules/approvals.ts";
import { whyNotCounted } from "./answer_words.ts";
import { findStarters, type StartersStore } from "./starters.ts";

/** Who answers, as far as svc knows. */
export interface Answerer {
  /** Name of the Person whose token or session it is. */
  readonly person?: string;
  /** As a Person has it in `is`: `github:583231`, `slack:T01/U02`; its Person is found by it. */
  readonly identity?: string;
  /** Entries of `by` that the platform has said yes to just now, such as `github:write`. */
  readonly writes?: readonly string[];
  /** Whether it came through the socket, without a token. */
  readonly isSocket?: true;
  readonly role: Role;
  /** For people, and in the audit: `ada`, `ada (console)`, `octocat at GitHub`. */
  readonly called: string;
}

/** An answer to a question. */
export interface GivenAnswer {
  readonly taskId: string;
  /** Id of the step; the one that asks if absent, and only one does. */
  readonly step?: string;
  /** Number of the round; the newest if absent. */
  readonly round?: number;
  readonly answer: Answer;
  /** Digest of what was shown, or at least its first eight digits. */
  readonly digest: string;
  readonly comment?: string;
  readonly fields?: Readonly<Record<string, string>>;
  readonly by: Answerer;
  readonly surface: AnswerSurface;
  /** Why an admin answers in the place of those who may. */
  readonly forced?: string;
  /** Who is in the audit, where it is the caller of an operation; made of `by` if absent. */
  readonly caller?: Caller;
}

/** The questions of a daemon, and who people are. */
export interface AnswerHost extends Pick<AuditLog, "startAudited"> {
  readonly store:
    & TaskStore
    & StartersStore
    & Pick<WaitStore, "answerWait" | "findApproval" | "listApprovals">;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly secrets: { readonly redact: (text: string) => string };
}

/** An answer that was looked at, and the step that it was for. */
export interface AnsweredStep {
  readonly step: string;
  readonly result: AnswerResult;
}

/** Most characters of a comment. */
export const MAX_COMMENT = 4000;

/**
 * Answers a question, and records that in the audit, also an answer that does not count.
 *
 * @throws {AppError} `not_found` for a task or step that does not exist, `conflict` if several steps ask
 * and none is named, `invalid` for too long a comment.
 */
export async function answerApproval(
  given: GivenAnswer,
  host: AnswerHost,
): Promise<AnsweredStep> {
  const { taskId, answer, digest, comment = "", by, surface, forced } = given;
  if (comment.length > MAX_COMMENT) {
    throw new AppError("invalid", `A comment has at most ${MAX_COMMENT} characters`);
  }
  const { step, position } = await findAsking(given, host.store);
  const question = await host.store.findApproval({
    taskId,
    position,
    ...defined({ round: given.round }),
  });
  if (question === undefined) return { step, result: { is: "none" } };
  const { tree = "" } = question.asked;
  const sealed = tree === "" ? "" : ` tree ${shortDigest(tree)}`;
  const { person, role } = by;
  const end = await host.startAudited({
    operation: "approval.answer",
    targets: [
      `task/${taskId}.${step} ${answer} ${shortDigest(digest)}${sealed} ${surface}` +
      (forced === undefined ? "" : " forced"),
    ],
    // A Person has one name in the audit, wherever it answers.
    caller: given.caller ??
      (person === undefined
        ? { name: by.called, role }
        : { name: person, person, client: surface, role }),
  });
  try {
    const result = await storeAnswer(given, question, host);
    await end(isCounted(result) ? undefined : new AppError("refused", whyNotCounted(result)));
    return { step, result };
  } catch (error) {
    await end(error);
    throw error;
  }
}

/** Whether an answer is one of those that decide. */
export function isCounted({ is }: AnswerResult): boolean {
  return is === "over" || is === "counted" || is === "repeated";
}

async function storeAnswer(
  given: GivenAnswer,
  question: Approval,
  host: AnswerHost,
): Promise<AnswerResult> {
  const { catalog, secrets, clock, store } = host;
  const { answer, digest, comment = "", fields = {}, by, surface, forced } = given;
  const { taskId, position, round } = question;
  const kept = (text: string) => keptText(secrets.redact(text));
  const { person, identity } = whoIs(by, catalog);
  const found = person === undefined
    ? undefined
    : catalog.find<PersonSpec>(PERSON_KIND, "", person);
  const spec = found?.spec;
  return await store.answerWait({
    taskId,
    position,
    round,
    surface,
    answer,
    digest,
    key: person === undefined ? identity ?? nobodyIn(by) : `person:${person}`,
    ...defined({ person, identity, forced: forced && kept(forced) }),
    ...defined({ personSince: found?.createdAt }),
    gone: question.answers.filter((one) => isGone(one, catalog)).map(({ key }) => key),
    identities: spec?.is ?? [],
    mayBy: question.asked.by.filter((entry) => matches(entry, by, { person, spec })),
    startedBy: question.asked.fourEyes ? await findStarters(taskId, host) : [],
    called: by.called,
    comment: kept(comment),
    fields: Object.fromEntries(Object.entries(fields).map(([name, text]) => [name, kept(text)])),
    now: clock.now(),
  });
}

/** Whether the Person who gave an answer was deleted since, also if there is another one of that name. */
function isGone({ person, at }: StoredAnswer, catalog: Catalog): boolean {
  return person !== undefined && !isStill(person, at, catalog);
}

const nobodyIn = ({ isSocket, called }: Answerer) => isSocket === true ? BY_SOCKET : called;

/** The Person of an answerer, who may have changed since the question was asked, and the identity. */
function whoIs(
  { person, identity }: Answerer,
  catalog: Catalog,
): { readonly person: string | undefined; readonly identity: string | undefined } {
  const found = person !== undefined
    ? personNamed(catalog, person)
    : identity === undefined
    ? undefined
    : findPerson(catalog, identity);
  return { person: found?.name, identity };
}

/** Whether an entry of `by` is about this answerer. */
function matches(
  entry: string,
  { writes = [], isSocket }: Answerer,
  { person, spec }: { readonly person: string | undefined; readonly spec: PersonSpec | undefined },
): boolean {
  if (entry === BY_SOCKET) return isSocket === true;
  const group = groupIn(entry);
  if (group !== undefined) return spec?.groups?.includes(group) === true;
  return entry.includes(":") ? writes.includes(entry) : entry === person;
}

/**
 * The step that an answer is for.
 *
 * @throws {AppError} as {@linkcode answerApproval}.
 */
export async function findAsking(
  { taskId, step, digest }: Pick<GivenAnswer, "taskId" | "step"> & { readonly digest?: string },
  store: AnswerHost["store"],
): Promise<{ readonly step: string; readonly position: number }> {
  const task = await findTask(taskId, store);
  if (step !== undefined) {
    const position = task.steps.findIndex((one) => one.id === step);
    if (position !== -1) return { step, position };
    const ids = task.steps.map((one) => one.id).join(", ");
    throw new AppError("not_found", `Task ${taskId} has no step "${step}": its steps are ${ids}`);
  }
  const open = await store.listApprovals({ taskId, limit: 100 });
  const [first, second] = open;
  if (first === undefined) {
    const decided = digest === undefined ? undefined : await findDecided(task, digest, store);
    if (decided !== undefined) return decided;
    throw new AppError(
      "conflict",
      `Task ${taskId}, which is ${task.state}, asks nothing now: "svc get approvals" lists what is asked`,
    );
  }
  if (second === undefined) return first;
  const ids = open.map((one) => one.step).join(", ");
  throw new AppError("conflict", `Several steps of task ${taskId} ask: name one of ${ids}`);
}

/** The step whose question was shown with a digest, and is decided: who comes late is told by whom. */
async function findDecided(
  { id: taskId, steps }: Task,
  digest: string,
  store: AnswerHost["store"],
): Promise<{ readonly step: string; readonly position: number } | undefined> {
  for (const [position, { id: step }] of steps.entries()) {
    const found = await store.findApproval({ taskId, position });
    if (found !== undefined && isDigest(digest, found.asked.digest)) return { step, position };
  }
  return undefined;
}
