/**
 * The operations that make issues, labels and reviews for a task, within `may` of its workflow. Each is
 * done when its messages are in the outbox.
 *
 * @module
 */

import Type from "typebox";
import { FORGE_WORDS, type ForgeName, ofForge, REVIEW_EVENTS } from "../base/forge_names.ts";
import { type OnThread, OWN_TASK, type Queued } from "./answer_operations.ts";
import { defineOperation, json, OPTIONAL_TEXT, TASK, TEXT } from "./operation.ts";

const LABELS = Type.Optional(Type.Array(TEXT, { maxItems: 100 }));
const LINE = Type.Integer({ minimum: 1, maximum: 2 ** 31 });

/** A comment on a line of a diff. */
const COMMENT = Type.Object({
  path: Type.String({ maxLength: 4096 }),
  line: LINE,
  side: Type.Optional(Type.Enum(["LEFT", "RIGHT"])),
  start_line: Type.Optional(LINE),
  body: TEXT,
}, { additionalProperties: false });

/** The operations that make issues, labels and reviews at any forge. */
function outputsAt(forge: ForgeName) {
  const { pull } = FORGE_WORDS[forge];
  return {
    issue_create: defineOperation({
      summary: "Puts an issue into the outbox; of the same key the open one is renewed",
      input: { task: TASK, title: TEXT, body: TEXT, key: OPTIONAL_TEXT, labels: LABELS },
      output: json<Queued & { readonly title: string }>(),
      role: "operator",
      grants: OWN_TASK,
      tool: {
        for: "step",
        description:
          "Files an issue in the repository, in Markdown. Of the same key the open issue is " +
          "renewed.",
        readOnly: false,
        fromOutside: false,
        forge,
        output: "issue",
      },
    }),
    label: defineOperation({
      summary: "Puts labels that what a task is about gets, or loses, into the outbox",
      input: { task: TASK, add: LABELS, remove: LABELS },
      output: json<
        Queued & OnThread & { readonly outbox_ids: readonly string[] }
      >(),
      role: "operator",
      grants: OWN_TASK,
      tool: {
        for: "step",
        description:
          `Adds labels that the repository has to the issue or ${pull} that the task is about, and ` +
          "removes others.",
        readOnly: false,
        fromOutside: false,
        forge,
        output: "label",
      },
    }),
    review: defineOperation({
      summary: `Puts a review of the ${pull} that a task is about into the outbox`,
      input: {
        task: TASK,
        body: TEXT,
        key: OPTIONAL_TEXT,
        event: Type.Optional(Type.Enum([...REVIEW_EVENTS[forge]])),
        comments: Type.Optional(Type.Array(COMMENT, { maxItems: 100 })),
      },
      output: json<Queued & OnThread>(),
      role: "operator",
      grants: OWN_TASK,
      tool: {
        for: "step",
        description:
          `Reviews the ${pull} that the task is about: a text in Markdown, and comments on lines of ` +
          "its diff.",
        readOnly: false,
        fromOutside: false,
        forge,
        output: "review",
      },
    }),
  };
}

/** The operations that make issues, labels and reviews, by name. */
export const OUTPUT_OPERATIONS = {
  ...ofForge("github", outputsAt("github")),
  ...ofForge("gitlab", outputsAt("gitlab")),
};
