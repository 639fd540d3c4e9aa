/**
 * The operations that answer to the origin of a task. Each is done when its message is in the
 * outbox.
 *
 * @module
 */

import Type from "typebox";
import {
  COMMENT_FORMATS,
  FORGE_WORDS,
  type ForgeName,
  ofForge,
  REACTIONS,
  STATUS_STATES,
} from "../base/forge_names.ts";
import { CHECK_CONCLUSIONS, CHECK_STATUSES } from "../base/github_names.ts";
import { defineOperation, json, OPTIONAL_TEXT, TASK, TEXT } from "./operation.ts";

/** A message that was put into the outbox. */
export interface Queued extends Readonly<Record<string, unknown>> {
  readonly task_id: string;
  /** Repository that it goes to. */
  readonly repository: string;
  readonly outbox_id: string;
  /** Whether it is sent at once, or waits for a person. */
  readonly state: "pending" | "held";
  /** Why it waits; `null` for one that does not. */
  readonly held_for: string | null;
}

/** The issue or pull that a message goes to. */
export interface OnThread {
  readonly number: number;
  /** As people write it: `acme/site#42`, of a merge request `acme/site!42`. */
  readonly reference: string;
}

/** A step answers to its own task only. */
export const OWN_TASK = { step: { own: "task", in: "task" } } as const;

const LINE_NUMBER = Type.Integer({ minimum: 1, maximum: 10_000_000 });
/** An annotation of a line of a file. */
const ANNOTATION = Type.Object({
  path: Type.String({ minLength: 1, maxLength: 1000 }),
  start_line: LINE_NUMBER,
  end_line: Type.Optional(LINE_NUMBER),
  level: Type.Enum(["notice", "warning", "failure"]),
  message: Type.String({ minLength: 1, maxLength: 4000 }),
  title: Type.Optional(Type.String({ maxLength: 255 })),
}, { additionalProperties: false });

/** The operations that answer at any forge. */
function answersAt(forge: ForgeName) {
  const { pull } = FORGE_WORDS[forge];
  return {
    comment: defineOperation({
      summary: "Puts a comment on what a task is about into the outbox",
      input: {
        task: TASK,
        text: TEXT,
        key: OPTIONAL_TEXT,
        format: Type.Optional(Type.Enum([...COMMENT_FORMATS])),
      },
      output: json<Queued & OnThread>(),
      role: "operator",
      grants: OWN_TASK,
      tool: {
        for: "step",
        description:
          `Comments on the issue or ${pull} that the task is about, in Markdown. A later ` +
          "comment with the same key replaces the text of the earlier one.",
        readOnly: false,
        fromOutside: false,
        forge,
        output: "comment",
      },
    }),
    status: defineOperation({
      summary: "Puts a status of the commit that a task is about into the outbox",
      input: {
        task: TASK,
        state: Type.Enum([...STATUS_STATES]),
        context: TEXT,
        description: OPTIONAL_TEXT,
        sha: OPTIONAL_TEXT,
      },
      output: json<Queued & { readonly context: string }>(),
      role: "operator",
      grants: OWN_TASK,
      tool: {
        for: "step",
        description:
          "Sets the status of the commit that the task is about. The context names the " +
          "check, such as svc/review; the description is one short line.",
        readOnly: false,
        fromOutside: false,
        forge,
        output: "status",
      },
    }),
    react: defineOperation({
      summary: "Puts a reaction to what a task is about into the outbox",
      input: {
        task: TASK,
        content: Type.Enum([...REACTIONS]),
      },
      output: json<Queued & { readonly content: string }>(),
      role: "operator",
      grants: OWN_TASK,
      tool: {
        for: "step",
        description: `Puts a reaction on the comment, issue or ${pull} that the task is about.`,
        readOnly: false,
        fromOutside: false,
        forge,
        output: "react",
      },
    }),
  };
}

/** The operations that answer, by name. */
export const ANSWER_OPERATIONS = {
  ...ofForge("github", answersAt("github")),
  ...ofForge("gitlab", answersAt("gitlab")),
  "github.check": defineOperation({
    summary: "Puts a check run of the commit that a task is about into the outbox",
    input: {
      task: TASK,
      name: Type.String({ minLength: 1, maxLength: 100 }),
      status: Type.Enum([...CHECK_STATUSES]),
      conclusion: Type.Optional(Type.Enum([...CHECK_CONCLUSIONS])),
      title: Type.Optional(Type.String({ maxLength: 255 })),
      summary: Type.Optional(Type.String({ maxLength: 65_535 })),
      annotations: Type.Optional(Type.Array(ANNOTATION, { maxItems: 500 })),
    },
    output: json<Queued & { readonly name: string }>(),
    role: "operator",
    grants: OWN_TASK,
  }),
  "line.push": defineOperation({
    summary: "Puts a text for the conversation at LINE a task came from into the outbox",
    input: { task: TASK, text: TEXT },
    output: json<{ readonly task_id: string; readonly to: string; readonly outbox_id: string }>(),
    role: "operator",
    grants: OWN_TASK,
  }),
};
