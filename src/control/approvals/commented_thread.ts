/**
 * The thread in which a question is asked, as its forge shows it now. What an event says of a comment is
 * no proof: maintainers of a project at GitLab choose what its webhooks send, and Gitea shows them the
 * secret. So the event only says where to look, and everything else is read here, through the Connection
 * of the task.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { CallFailed, type ForgeUser, type WrittenComment } from "../../connections/api/forge.ts";
import type { Connection } from "../../connections/find_connection.ts";
import type { ForgeTokens } from "../../connections/forge_tokens.ts";
import { FORGES_BY_NAME } from "../../connections/forges.ts";
import type { OwnUsers } from "../../connections/own_users.ts";
import { READING_RIGHTS } from "../../connections/sender_permissions.ts";
import type { AnswerAddress } from "../../outbox/answer_drafts.ts";
import { readOwnUser } from "../../outbox/forge_access.ts";
import type { Catalog } from "../../resources/catalog.ts";
import type { ConnectionSpec } from "../../resources/connection.ts";

/** What it is read with. */
export interface ThreadHost {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly forgeTokens: ForgeTokens;
  readonly ownUsers: OwnUsers;
}

/** A comment, or why it can be nobody's answer. */
export type ReadComment = { readonly comment: WrittenComment } | { readonly whyNot: string };

/** A thread at a forge. */
export interface CommentedThread {
  readonly connection: Connection;
  /**
   * The comment with this id, if a person has written it there and nobody has changed it.
   *
   * @throws {CallFailed}, {AppError}
   */
  read(id: string): Promise<ReadComment>;
  /** Whether somebody may write to the repository now; no reply is a no. */
  mayWrite(user: ForgeUser): Promise<boolean>;
}

/** The event of a comment can overtake the comment, where several servers answer for one forge. */
const AGAIN_MS = 1000;

/**
 * Opens the thread of a task.
 *
 * @throws {AppError} `refused` if its Connection is gone.
 */
export function openThread(
  { task: { project }, subject, connection: name }: AnswerAddress,
  host: ThreadHost,
  signal: AbortSignal,
): CommentedThread {
  const { forge: forgeName, repository, number, isPull } = subject;
  const connection = host.catalog.find<ConnectionSpec>("Connection", project, name);
  if (connection === undefined || number === undefined) {
    throw new AppError("refused", "The thread of the task has no Connection");
  }
  const forge = FORGES_BY_NAME[forgeName];
  const { clock, ownUsers } = host;
  const purpose = { repository, rights: READING_RIGHTS };
  const access = host.forgeTokens.access(connection, purpose, signal);
  const at = forge.open({
    connection,
    repository,
    call: (request) => forge.call(access, request),
    clock,
  });

  const isOwn = async (id: string) => {
    if (ownUsers.isOwn(id)) return true;
    if (ownUsers.find(connection) !== undefined) return false;
    return (await readOwnUser({ connection, at, host }))?.userId === id;
  };

  const find = async (id: string) => {
    try {
      const found = await at.readComment({ number, isPull }, id);
      if (found !== undefined) return found;
    } catch (error) {
      if (!(error instanceof CallFailed) || error.failure.kind === "refused") throw error;
    }
    await clock.pause(AGAIN_MS, signal);
    return await at.readComment({ number, isPull }, id);
  };

  return {
    connection,
    async read(id) {
      const comment = await find(id);
      if (comment === undefined) return { whyNot: "there is no such comment in the thread" };
      if (comment.isByProgram) return { whyNot: "no person wrote it" };
      if (comment.isChanged) return { whyNot: "it was changed after it was written" };
      if (comment.isInternal) return { whyNot: "fewer people may read it than the thread" };
      if (await isOwn(comment.userId)) return { whyNot: "svc's own user wrote it" };
      return { comment };
    },
    async mayWrite({ userId: id, login }) {
      try {
        return (await at.permissionOf({ id, login })).mayWrite;
      } catch (error) {
        if (error instanceof CallFailed) return false;
        throw error;
      }
    },
  };
}
