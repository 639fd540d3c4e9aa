/**
 * Answers to the subject of a task at its forge. The delivery that started the task says where they go,
 * never a step.
 *
 * @module
 */

import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import {
  type CommentFormat,
  FORGE_WORDS,
  type ForgeName,
  FORGES,
  type Reaction,
  SHA,
  type StatusState,
} from "../base/forge_names.ts";
import type { CHECK_CONCLUSIONS, CHECK_STATUSES } from "../base/github_names.ts";
import type { JsonObject } from "../base/json.ts";
import type { ForgeSubject } from "../connections/api/forge.ts";
import { findSubject } from "../connections/forges.ts";
import type { OutputName } from "../resources/may.ts";
import type { StoredDelivery } from "../store/delivery_records.ts";
import type { Task } from "../store/task_records.ts";
import { ANSWER_KEY } from "./marker.ts";
import { findForgeFor, kindName, threadTarget } from "./forge_access.ts";
import { type Draft, MAX_STORED } from "./message_kind.ts";
import { type AnswerSources, findOrigin, type OriginStore } from "./origin.ts";

/** The subject of a task, and the Connection through which it is answered. */
export interface AnswerAddress {
  readonly task: Task;
  readonly subject: ForgeSubject;
  /** Name of the Connection; empty if there is none. */
  readonly connection: string;
  /** Name of the trigger of that delivery. */
  readonly trigger: string;
  /** The delivery that names the subject. */
  readonly origin: StoredDelivery;
}

/**
 * The subject of a task at a forge, which its own delivery names, or that of the nearest earlier task.
 *
 * @throws {AppError} `refused` if there is none, or one at another forge, its sender was not checked, or
 * no Connection covers its repository.
 */
export async function addressOf(
  task: Task,
  forge: ForgeName,
  host: AnswerSources,
): Promise<AnswerAddress> {
  const address = await placeOf(task, host, forge);
  const { project, trigger, subject: { repository } } = address;
  const { name } = findForgeFor({ forge, project, trigger, repository }, host.catalog);
  return { ...address, connection: name };
}

/**
 * The same, also without a Connection: the outbox then gives the message up with the reason, and it
 * can be sent once there is a Connection.
 *
 * @throws {AppError} `refused` if there is no subject, or its sender was not checked.
 */
export async function addressOfReport(task: Task, host: AnswerSources): Promise<AnswerAddress> {
  const address = await placeOf(task, host);
  const { project, trigger, subject: { forge, repository } } = address;
  try {
    const { name } = findForgeFor({ forge, project, trigger, repository }, host.catalog);
    return { ...address, connection: name };
  } catch (error) {
    if (error instanceof AppError && error.code === "refused") return address;
    throw error;
  }
}

/**
 * The forge whose event a task goes back to; `undefined` if there is none, or nothing has checked who
 * sent it.
 */
export async function forgeOfTask(
  task: Task,
  store: OriginStore,
): Promise<ForgeName | undefined> {
  try {
    return (await findOrigin(task, findSubject, store))?.found.forge;
  } catch (error) {
    if (error instanceof AppError && error.code === "refused") return undefined;
    throw error;
  }
}

/** The subject of a task, without a Connection yet; at one forge, or at any. */
async function placeOf(
  task: Task,
  host: AnswerSources,
  forge?: ForgeName,
): Promise<AnswerAddress & { readonly project: string }> {
  const origin = await findOrigin(task, findSubject, host.store);
  refuseOther(task, origin?.found, forge);
  if (origin === undefined) {
    const which = FORGES.filter((one) => forge === undefined || one === forge)
      .map((one) => FORGE_WORDS[one].title).join(" or ");
    const message = `Task ${task.id} did not come from an event of ${which}`;
    throw new AppError("refused", `${message}, so svc cannot answer it`);
  }
  const { found: subject, delivery, task: { project, trigger } } = origin;
  return { task, subject, connection: "", project, trigger, origin: delivery };
}

/**
 * Refuses what is asked for at one forge by a task whose event is of another.
 *
 * @throws {AppError} `refused`.
 */
export function refuseOther(
  task: Pick<Task, "id">,
  subject: ForgeSubject | undefined,
  wanted: ForgeName | undefined,
): void {
  if (subject === undefined || wanted === undefined || subject.forge === wanted) return;
  throw new AppError("refused", otherForge(task, subject.forge));
}

/** Why a task may do nothing at another forge than that of its event, in one sentence. */
export function otherForge({ id }: Pick<Task, "id">, from: ForgeName): string {
  const { title } = FORGE_WORDS[from];
  return `Task ${id} came from an event of ${title}, so it acts at ${title} only: use svc ${from}`;
}

/** The part that all messages to one address share. */
function draftTo({ task, connection, subject: { forge } }: AnswerAddress, output: OutputName) {
  const { project, id: taskId } = task;
  return { project, connection, kind: kindName(forge, output), taskId };
}

/** The body of a message; without a Connection with the trigger, whose Connection it will use. */
function bodyFor({ connection, trigger }: AnswerAddress, body: JsonObject): JsonObject {
  return connection === "" ? { ...body, trigger } : body;
}

/**
 * A comment; the next one of its key on the same issue updates it.
 *
 * @throws {AppError} `refused` if the event has no issue or pull; `invalid`.
 */
export function commentDraft(
  address: AnswerAddress,
  comment: { readonly text: string; readonly key: string; readonly format: CommentFormat },
): Draft {
  const { subject } = address;
  const { text, key, format } = comment;
  const thread = threadTarget(subject);
  if (thread === undefined) {
    throw nothingThere(address, `issue or ${pullAt(address)} to comment on`);
  }
  if (text.trim() === "") {
    throw new AppError("invalid", "The text is empty, so there is nothing to comment");
  }
  if (!ANSWER_KEY.test(key)) {
    const form = "letters, digits, and . _ / - after the first, at most 253";
    throw new AppError("invalid", `"${key}" cannot be the key of a comment: use ${form}`);
  }
  const target = { repository: subject.repository, ...thread };
  const body = bodyFor(address, { text: text.slice(0, MAX_STORED), format });
  return { ...draftTo(address, "comment"), target, key, body };
}

/** A status of a commit. */
export interface CommitStatus {
  readonly state: StatusState;
  readonly context: string;
  readonly description: string;
  /** Commit; that of the event if absent. */
  readonly sha?: string | undefined;
}

/**
 * A status of the commit of the event. Those of one task and context are of the same commit.
 *
 * @throws {AppError} `refused` if the event has no commit, or `sha` does not belong to it.
 */
export function statusDraft(address: AnswerAddress, status: CommitStatus): Draft {
  const { state, context, description, sha } = status;
  const { task, subject: { repository } } = address;
  const target = { repository, context, ...commitOf(address, sha) };
  const body = bodyFor(address, { state, description });
  const key = `${task.id} ${context}`;
  return { ...draftTo(address, "status"), target, key, body };
}

/** A check run of a commit. */
export interface CommitCheck {
  readonly name: string;
  readonly status: typeof CHECK_STATUSES[number];
  readonly conclusion?: typeof CHECK_CONCLUSIONS[number] | undefined;
  readonly title?: string | undefined;
  readonly summary?: string | undefined;
  /** As GitHub takes them. */
  readonly annotations?: readonly JsonObject[] | undefined;
}

/**
 * A check run of the commit of the event; the next one of its task and name updates it.
 *
 * @throws {AppError} `refused` if the event has no commit.
 */
export function checkDraft(address: AnswerAddress, check: CommitCheck): Draft {
  const { name, status, conclusion, title, summary, annotations = [] } = check;
  const { task, subject: { repository } } = address;
  const target = { repository, name, ...commitOf(address, undefined) };
  const body = bodyFor(address, {
    status,
    ...defined({ conclusion, title, summary }),
    annotations: [...annotations],
  });
  return { ...draftTo(address, "check"), target, key: `${task.id} ${name}`, body };
}

/** The commit, or the pull whose commit is read when the status is sent. */
function commitOf(
  address: AnswerAddress,
  sha: string | undefined,
): { sha?: string; pull?: number } {
  const { subject } = address;
  if (sha !== undefined && !SHA.test(sha)) {
    throw new AppError("invalid", `"${sha}" is not the whole id of a commit`);
  }
  const known = [...(subject.sha === undefined ? [] : [subject.sha]), ...subject.commits];
  if (sha === undefined && subject.sha !== undefined) return { sha: subject.sha };
  if (sha !== undefined && known.includes(sha)) return { sha };
  const { isPull, number } = subject;
  if (isPull && number !== undefined) {
    return { pull: number, ...defined({ sha }) };
  }
  if (sha === undefined) throw nothingThere(address, "commit that could have a status");
  throw new AppError(
    "refused",
    `${sha} is not a commit of the event that task ${address.task.id} is about`,
  );
}

/**
 * A reaction to the subject of the event.
 *
 * @throws {AppError} `refused` if the subject cannot have one.
 */
export function reactionDraft(address: AnswerAddress, content: Reaction): Draft {
  const { subject: { repository, reactTo } } = address;
  if (reactTo === undefined) {
    throw nothingThere(address, `comment, issue or ${pullAt(address)} to react to`);
  }
  const target = { repository, to: reactTo };
  return {
    ...draftTo(address, "react"),
    target,
    key: "",
    body: bodyFor(address, { content }),
  };
}

/** The word for a pull at the forge of an address. */
function pullAt({ subject: { forge } }: AnswerAddress): string {
  return FORGE_WORDS[forge].pull;
}

function nothingThere({ task }: AnswerAddress, what: string): AppError {
  return new AppError("refused", `The event that task ${task.id} is about has no ${what}`);
}
