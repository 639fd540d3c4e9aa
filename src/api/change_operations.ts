/**
 * The operations by which a task changes files at a platform. Each is done when its message is in the
 * outbox; the change comes along as a pack of git.
 *
 * @module
 */

import Type from "typebox";
import { FORGE_WORDS, type ForgeName } from "../base/forge_names.ts";
import { CHANGE_LIMITS } from "../git/change.ts";
import { OWN_TASK, type Queued } from "./answer_operations.ts";
import { defineOperation, json, OPTIONAL_TEXT, TASK, TEXT } from "./operation.ts";

/** A change of files that was put into the outbox. */
export interface QueuedChange extends Queued {
  /** The branch that it goes to; `null` where only the answer of the forge tells. */
  readonly branch: string | null;
  /** The branch into which it is to be merged; `null` for commits onto a pull. */
  readonly base: string | null;
  /** Id of the commit. */
  readonly sha: string;
  /** Number of changed files. */
  readonly files: number;
  /** Lines that are new, and lines that are gone. */
  readonly added: number;
  readonly removed: number;
}

/** A commit that was put into the outbox. */
export interface PushedChange extends QueuedChange {
  /** The commit as git stores it, for the repository of the step: the next change begins at it. */
  readonly commit_object: string;
}

/** Id of an object of git; SHA-256 is refused where it is read. */
const OBJECT_ID = Type.String({ pattern: "^[0-9a-f]{40}$", title: "the id of an object of git" });

/** A change: where it begins, where it leads to, and the pack with its objects. */
const CHANGE = { start: OBJECT_ID, tree: OBJECT_ID };
const PACK = { maxBytes: CHANGE_LIMITS.packBytes };

/** The operations that change files at any forge. */
function changesAt(forge: ForgeName) {
  const { pull, pullCommand } = FORGE_WORDS[forge];
  return {
    create: defineOperation({
      summary: `Puts a ${pull} into the outbox, or renews the one of its key`,
      input: {
        task: TASK,
        title: TEXT,
        body: OPTIONAL_TEXT,
        key: OPTIONAL_TEXT,
        base: OPTIONAL_TEXT,
        labels: Type.Optional(Type.Array(TEXT)),
        ...CHANGE,
      },
      output: json<QueuedChange>(),
      role: "operator",
      grants: OWN_TASK,
      attachment: PACK,
      tool: {
        for: "step",
        description: `Opens a ${pull} with the files of the working tree as they are now, but ` +
          "nothing that .gitignore names; of the same key it renews the one that is open. No " +
          "commit is needed. If `held_for` says why, a person has to send it.",
        readOnly: false,
        fromOutside: false,
        forge,
        output: "pull",
        input: {
          task: TASK,
          title: TEXT,
          body: Type.Optional(Type.String({ description: "Markdown" })),
          key: OPTIONAL_TEXT,
          base: Type.Optional(
            Type.String({ description: "Branch to merge into; that of the repository by default" }),
          ),
          labels: Type.Optional(Type.Array(TEXT)),
        },
      },
    }),
    update: defineOperation({
      summary: `Puts another title or text of a task's ${pull} into the outbox`,
      input: { task: TASK, key: OPTIONAL_TEXT, title: OPTIONAL_TEXT, body: OPTIONAL_TEXT },
      output: json<Queued>(),
      role: "operator",
      grants: OWN_TASK,
    }),
    push: defineOperation({
      summary: `Puts one more commit onto the ${pull} that a task is about into the outbox`,
      input: { task: TASK, message: OPTIONAL_TEXT, ...CHANGE },
      output: json<PushedChange>(),
      role: "operator",
      grants: OWN_TASK,
      attachment: PACK,
      tool: {
        for: "step",
        name: `${forge}_${pullCommand}_push`,
        description: `Puts one more commit onto the ${pull} that the task is about: the files ` +
          "of the working tree as they are now, but nothing that .gitignore names.",
        readOnly: false,
        fromOutside: false,
        forge,
        output: "push",
        input: { task: TASK, message: OPTIONAL_TEXT },
      },
    }),
  };
}

const github = changesAt("github");
const gitlab = changesAt("gitlab");

/** The operations that change files, by name. */
export const CHANGE_OPERATIONS = {
  "github.pr_create": github.create,
  "github.pr_update": github.update,
  "github.push": github.push,
  "gitlab.mr_create": gitlab.create,
  "gitlab.mr_update": gitlab.update,
  "gitlab.push": gitlab.push,
};
