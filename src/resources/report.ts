/**
 * `spec.report` of a Trigger: what its tasks are answered with at the platform their event came
 * from.
 *
 * @module
 */

import Type from "typebox";
import { WORKFLOW_VARIABLES } from "../cel/template.ts";
import { checkTemplate } from "./condition.ts";
import { errorAt, type Finding } from "./resource.ts";

const CLOSED = { additionalProperties: false };

/** Names of answers: they stand in a marker, and cannot end it. */
const AnswerKey = Type.String({
  pattern: "^[A-Za-z0-9][A-Za-z0-9._/-]{0,252}$",
  title: "letters, digits, and . _ / - behind the first, at most 253",
});

/** Schema of `spec.report`. */
export const Report = Type.Object({
  github: Type.Object({
    react: Type.Optional(Type.Boolean()),
    status: Type.Optional(Type.String({
      minLength: 1,
      maxLength: 100,
      pattern: "^[^\\x00-\\x1f]*$",
      title: "a text of at most 100 characters in one line",
    })),
    comment: Type.Optional(Type.String({ minLength: 1 })),
    key: Type.Optional(AnswerKey),
  }, CLOSED),
}, CLOSED);

/** `spec.report` as written by the user. */
export type Report = Type.Static<typeof Report>;

const AT = ["spec", "report", "github"];

/** Variables of a comment: those of the steps of its workflow. */
const VARIABLES = WORKFLOW_VARIABLES.filter((name) => name !== "goal");

/** Checks what its schema cannot. */
export function checkReport(report: Report | undefined): Finding[] {
  if (report === undefined) return [];
  const { react, status, comment, key } = report.github;
  if (react !== true && status === undefined && comment === undefined) {
    return [errorAt(AT, "Nothing is reported: write react: true, status or comment")];
  }
  if (comment === undefined) {
    const message = 'Only a comment has a "key", remove it';
    return key === undefined ? [] : [errorAt([...AT, "key"], message)];
  }
  return checkTemplate(comment, [...AT, "comment"], VARIABLES);
}
