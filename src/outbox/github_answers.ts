/**
 * Answers to what a task is about at GitHub: where they go is read from the delivery that started
 * it, never from what a step says.
 *
 * @module
 */

import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import { findSubject, type GitHubSubject, SHA } from "../connections/github/subject.ts";
import type { Catalog } from "../resources/catalog.ts";
import type { StoredDelivery } from "../store/delivery_records.ts";
import type { Task } from "../store/task_records.ts";
import type { CommentFormat } from "./github_comment.ts";
import type { Reaction } from "./github_reaction.ts";
import type { StatusState } from "./github_status.ts";
import { ANSWER_KEY } from "./marker.ts";
import { findGitHubFor } from "./github_access.ts";
import type { Draft } from "./message_kind.ts";
import { findOrigin, type OriginStore } from "./origin.ts";

/** What these answers need. */
export interface GitHubAnswersHost {
  readonly catalog: Catalog;
  readonly store: OriginStore;
}

/** What a task is about, and the Connection through which it is answered. */
export interface Addressed {
  readonly task: Task;
  readonly subject: GitHubSubject;
  /** Name of the Connection; empty where there is none. */
  readonly connection: string;
  /** The trigger whose event it is. */
  readonly trigger: string;
  /** The delivery that names the subject. */
  readonly origin: StoredDelivery;
}

/**
 * What a task is about at GitHub: by its own delivery, else by that of the first task before it that
 * says so.
 *
 * @throws {AppError} `refused` where there is none, nobody vouches for its sender, or no Connection
 * covers its repository.
 */
export async function addressOf(task: Task, host: GitHubAnswersHost): Promise<Addressed> {
  const address = await placeOf(task, host);
  const { project, trigger, subject: { repository } } = address;
  const { name } = findGitHubFor({ project, trigger, repository }, host.catalog);
  return { ...address, connection: name };
}

/**
 * The same, also while no Connection is there: what is sent there then waits to be given up with the
 * reason, so that it can be sent once there is one.
 *
 * @throws {AppError} `refused` where there is none, or nobody vouches for its sender.
 */
export async function addressOfReport(task: Task, host: GitHubAnswersHost): Promise<Addressed> {
  const address = await placeOf(task, host);
  const { project, trigger, subject: { repository } } = address;
  try {
    const { name } = findGitHubFor({ project, trigger, repository }, host.catalog);
    return { ...address, connection: name };
  } catch (error) {
    if (error instanceof AppError && error.code === "refused") return address;
    throw error;
  }
}

/** What a task is about, and no Connection to it yet. */
async function placeOf(
  task: Task,
  host: GitHubAnswersHost,
): Promise<Addressed & { readonly project: string }> {
  const origin = await findOrigin(task, findSubject, host.store);
  if (origin === undefined) {
    const message = `Task ${task.id} did not come from an event of GitHub`;
    throw new AppError("refused", `${message}, so svc cannot answer it`);
  }
  const { found: subject, delivery, task: { project, trigger } } = origin;
  return { task, subject, connection: "", project, trigger, origin: delivery };
}

/** The part that all messages about one address share. */
function toSubject({ task, connection }: Addressed) {
  return { project: task.project, connection, taskId: task.id };
}

/** What a message says; without a Connection also whose it is to go through, once there is one. */
function said({ connection, trigger }: Addressed, body: JsonObject): JsonObject {
  return connection === "" ? { ...body, trigger } : body;
}

/**
 * A comment; the next one of its key on the same issue updates it.
 *
 * @throws {AppError} `refused` where the event has no issue or pull request; `invalid`.
 */
export function commentDraft(
  address: Addressed,
  comment: { readonly text: string; readonly key: string; readonly format: CommentFormat },
): Draft {
  const { subject: { repository, number } } = address;
  const { text, key, format } = comment;
  if (number === undefined) throw nothingThere(address, "issue or pull request to comment on");
  if (text.trim() === "") {
    throw new AppError("invalid", "The text is empty, so there is nothing to comment");
  }
  if (!ANSWER_KEY.test(key)) {
    const form = "letters, digits, and . _ / - after the first, at most 253";
    throw new AppError("invalid", `"${key}" cannot be the key of a comment: use ${form}`);
  }
  const target = { repository, number };
  const body = said(address, { text: text.slice(0, MAX_STORED), format });
  return { ...toSubject(address), kind: "github-comment", target, key, body };
}

/** Most characters of a text that are stored: more than a comment can have, whatever is in it. */
const MAX_STORED = 256 * 1024;

/** A status, as rooms ask for it. */
export interface StatusWanted {
  readonly state: StatusState;
  readonly context: string;
  readonly description: string;
  /** Commit; that of the event when absent. */
  readonly sha?: string | undefined;
}

/**
 * A status of the commit of the event. Those of one task and context are of the same commit.
 *
 * @throws {AppError} `refused` where the event has no commit, or the given one is not of it.
 */
export function statusDraft(address: Addressed, wanted: StatusWanted): Draft {
  const { state, context, description, sha } = wanted;
  const { task, subject: { repository } } = address;
  const target = { repository, context, ...commitOf(address, sha) };
  const body = said(address, { state, description });
  const key = `${task.id} ${context}`;
  return { ...toSubject(address), kind: "github-status", target, key, body };
}

/** The commit, or the pull request that is asked for it when the status is sent. */
function commitOf(address: Addressed, sha: string | undefined): { sha?: string; pull?: number } {
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
 * A reaction to what the event is about.
 *
 * @throws {AppError} `refused` where it is about nothing that can have one.
 */
export function reactionDraft(address: Addressed, content: Reaction): Draft {
  const { subject: { repository, reactTo } } = address;
  if (reactTo === undefined) {
    throw nothingThere(address, "comment, issue or pull request to react to");
  }
  const target = { repository, to: reactTo };
  return {
    ...toSubject(address),
    kind: "github-reaction",
    target,
    key: "",
    body: said(address, { content }),
  };
}

function nothingThere({ task }: Addressed, what: string): AppError {
  return new AppError("refused", `The event that task ${task.id} is about has no ${what}`);
}
