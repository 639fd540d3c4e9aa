/**
 * `spec.report` of a Trigger: what its tasks are answered with at the platform their event came
 * from.
 *
 * @module
 */

import Type from "typebox";
import { WORKFLOW_VARIABLES } from "../cel/template.ts";
import { checkTemplate } from "./condition.ts";
import { type StatedExpression, templateExpressions } from "./expressions.ts";
import { errorAt, type Finding } from "./resource.ts";

const CLOSED = { additionalProperties: false };

/** Names of answers: they stand in a marker, and cannot end it. */
const ANSWER_KEY = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,252}$/;

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
    key: Type.Optional(Type.String({ minLength: 1 })),
  }, CLOSED),
}, CLOSED);

/** `spec.report` as written by the user. */
export type Report = Type.Static<typeof Report>;

const AT = ["spec", "report", "github"];

/** Variables of a comment and its key: those of the steps of its workflow. */
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
  return [...checkTemplate(comment, [...AT, "comment"], VARIABLES), ...checkKey(key)];
}

/** A template is made a name when it is filled in; anything else has to be one. */
function checkKey(key: string | undefined): Finding[] {
  if (key === undefined || ANSWER_KEY.test(key)) return [];
  const at = [...AT, "key"];
  if (key.includes("{{")) return checkTemplate(key, at, VARIABLES);
  const form = "Expected letters, digits, and . _ / - after the first, at most 253, or a template";
  return [errorAt(at, `${form} such as c-{{ payload.comment.id }}`)];
}

/** The templates of a report. */
export function reportExpressions(report: Report | undefined): StatedExpression[] {
  const { comment, key } = report?.github ?? {};
  return [
    ...templateExpressions(comment, [...AT, "comment"]),
    ...templateExpressions(key, [...AT, "key"]),
  ];
}

/** The name of an answer that a filled-in key gives; `undefined` where it gives none. */
export function answerKeyOf(filled: string): string | undefined {
  const name = filled.replace(/[^A-Za-z0-9._/-]+/g, "-").replace(/^[^A-Za-z0-9]+/, "");
  return name === "" ? undefined : name.slice(0, 253);
}

/**
 * Why no task of a trigger can have an answer at GitHub, whatever Connections there are: an answer goes
 * to what a checked event is about. `undefined` where one can.
 */
export function whyNeverAnswered(
  { event: { source, webhook } }: {
    readonly event: {
      readonly source: string;
      readonly webhook?: { readonly allowUnsigned?: boolean };
    };
  },
): string | undefined {
  if (source === "cron" || source === "filesystem") {
    return `nothing of source "${source}" is about an issue, a pull request or a commit`;
  }
  if (webhook?.allowUnsigned !== true) return undefined;
  return "nothing checks who sent its event (allowUnsigned), name a SecretStore under " +
    "event.webhook.secret.fromRef";
}
