/**
 * `spec.report` of a Trigger: the answer that svc posts for a task to the platform of its event.
 *
 * @module
 */

import Type from "typebox";
import { WORKFLOW_VARIABLES } from "../cel/template.ts";
import { checkTemplate } from "./condition.ts";
import { type FieldExpression, templateExpressions } from "./expressions.ts";
import { errorAt, type Finding } from "./resource.ts";

const CLOSED = { additionalProperties: false };

/** Names of answers: a marker contains them, and they cannot end it. */
const ANSWER_KEY = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,252}$/;

/** Schema of `spec.report`: the answers to a task at GitHub. */
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
    pull: Type.Optional(Type.Object({
      title: Type.String({ minLength: 1 }),
      body: Type.Optional(Type.String()),
      key: Type.Optional(Type.String({
        pattern: ANSWER_KEY.source,
        title: "letters, digits, and . _ / - after the first, at most 253",
      })),
      base: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
      all: Type.Optional(Type.Boolean()),
    }, CLOSED)),
  }, CLOSED),
}, CLOSED);

/** `spec.report` as written by the user. */
export type Report = Type.Static<typeof Report>;

const AT = ["spec", "report", "github"];

/** Variables of a comment and its key: the variables of steps, except `goal`. */
const VARIABLES = WORKFLOW_VARIABLES.filter((name) => name !== "goal");

/** Checks of a report that its schema cannot express. */
export function checkReport(report: Report | undefined): Finding[] {
  if (report === undefined) return [];
  const { react, status, comment, key, pull } = report.github;
  if (react !== true && status === undefined && comment === undefined && pull === undefined) {
    return [errorAt(AT, "Nothing is reported: write react: true, status, comment or pull")];
  }
  const ofPull = pull === undefined ? [] : [
    ...checkTemplate(pull.title, [...AT, "pull", "title"], VARIABLES),
    ...checkTemplate(pull.body ?? "", [...AT, "pull", "body"], VARIABLES),
  ];
  if (comment === undefined) {
    const message = 'Only a comment has a "key", remove it';
    return [...ofPull, ...key === undefined ? [] : [errorAt([...AT, "key"], message)]];
  }
  return [...ofPull, ...checkTemplate(comment, [...AT, "comment"], VARIABLES), ...checkKey(key)];
}

/** Checks a key without templates; a template becomes a name when it is filled in. */
function checkKey(key: string | undefined): Finding[] {
  if (key === undefined || ANSWER_KEY.test(key)) return [];
  const at = [...AT, "key"];
  if (key.includes("{{")) return checkTemplate(key, at, VARIABLES);
  const form = "Expected letters, digits, and . _ / - after the first, at most 253, or a template";
  return [errorAt(at, `${form} such as c-{{ payload.comment.id }}`)];
}

/** The templates of a report. */
export function reportExpressions(report: Report | undefined): FieldExpression[] {
  const { comment, key, pull } = report?.github ?? {};
  return [
    ...templateExpressions(pull?.title, [...AT, "pull", "title"]),
    ...templateExpressions(pull?.body, [...AT, "pull", "body"]),
    ...templateExpressions(comment, [...AT, "comment"]),
    ...templateExpressions(key, [...AT, "key"]),
  ];
}

/** The name of an answer from a filled-in key; `undefined` if the key gives none. */
export function answerKeyOf(filled: string): string | undefined {
  const name = filled.replace(/[^A-Za-z0-9._/-]+/g, "-").replace(/^[^A-Za-z0-9]+/, "");
  return name === "" ? undefined : name.slice(0, 253);
}

/**
 * Why no task of a trigger can have an answer at GitHub, whatever Connections exist; `undefined` if
 * one can. An answer goes to the subject of an event whose sender was checked.
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
