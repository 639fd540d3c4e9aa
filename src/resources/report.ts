/**
 * `spec.report` of a Trigger: the answer that svc posts for a task to the platform of its event.
 *
 * @module
 */

import Type from "typebox";
import { FORGE_WORDS, type ForgeName, FORGES } from "../base/forge_names.ts";
import { WORKFLOW_VARIABLES } from "../cel/template.ts";
import { checkTemplate } from "./condition.ts";
import { type FieldExpression, templateExpressions } from "./expressions.ts";
import { errorAt, type FieldPath, type Finding } from "./resource.ts";

const CLOSED = { additionalProperties: false };

/** Names of answers: a marker contains them, and they cannot end it. */
const ANSWER_KEY = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,252}$/;

/** The answers to a task at one forge. */
const ForgeReport = Type.Object({
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
}, CLOSED);

/** Schema of `spec.report`: an event of a forge is answered as the block of that forge says. */
export const Report = Type.Object({
  github: Type.Optional(ForgeReport),
  gitlab: Type.Optional(ForgeReport),
}, CLOSED);

/** `spec.report` as written by the user. */
export type Report = Type.Static<typeof Report>;
/** The block of one forge. */
export type ForgeReport = Type.Static<typeof ForgeReport>;

const AT = ["spec", "report"];

/** The blocks of a report, with the places where they are written. */
function blocksOf(
  report: Report | undefined,
): readonly { readonly forge: ForgeName; readonly block: ForgeReport; readonly at: FieldPath }[] {
  return FORGES.flatMap((forge) => {
    const block = report?.[forge];
    return block === undefined ? [] : [{ forge, block, at: [...AT, forge] }];
  });
}

/** Variables of a comment and its key: the variables of steps, except `goal` and `inputs`. */
const VARIABLES = WORKFLOW_VARIABLES.filter((name) => !["goal", "inputs"].includes(name));

/** Checks of a report that its schema cannot express. */
export function checkReport(report: Report | undefined): Finding[] {
  if (report === undefined) return [];
  const blocks = blocksOf(report);
  if (blocks.length === 0) {
    return [errorAt(AT, `Nothing is reported: write ${FORGES.join(" or ")}`)];
  }
  return blocks.flatMap(({ block, at }) => checkBlock(block, at));
}

function checkBlock({ react, status, comment, key, pull }: ForgeReport, at: FieldPath): Finding[] {
  if (react !== true && status === undefined && comment === undefined && pull === undefined) {
    return [errorAt(at, "Nothing is reported: write react: true, status, comment or pull")];
  }
  const ofPull = pull === undefined ? [] : [
    ...checkTemplate(pull.title, [...at, "pull", "title"], VARIABLES),
    ...checkTemplate(pull.body ?? "", [...at, "pull", "body"], VARIABLES),
  ];
  if (comment === undefined) {
    const message = 'Only a comment has a "key", remove it';
    return [...ofPull, ...key === undefined ? [] : [errorAt([...at, "key"], message)]];
  }
  return [
    ...ofPull,
    ...checkTemplate(comment, [...at, "comment"], VARIABLES),
    ...checkKey(key, [...at, "key"]),
  ];
}

/** Checks a key without templates; a template becomes a name when it is filled in. */
function checkKey(key: string | undefined, at: FieldPath): Finding[] {
  if (key === undefined || ANSWER_KEY.test(key)) return [];
  if (key.includes("{{")) return checkTemplate(key, at, VARIABLES);
  const form = "Expected letters, digits, and . _ / - after the first, at most 253, or a template";
  return [errorAt(at, `${form} such as c-{{ payload.comment.id }}`)];
}

/** The templates of a report. */
export function reportExpressions(report: Report | undefined): FieldExpression[] {
  return blocksOf(report).flatMap(({ block: { comment, key, pull }, at }) => [
    ...templateExpressions(pull?.title, [...at, "pull", "title"]),
    ...templateExpressions(pull?.body, [...at, "pull", "body"]),
    ...templateExpressions(comment, [...at, "comment"]),
    ...templateExpressions(key, [...at, "key"]),
  ]);
}

/** The name of an answer from a filled-in key; `undefined` if the key gives none. */
export function answerKeyOf(filled: string): string | undefined {
  const name = filled.replace(/[^A-Za-z0-9._/-]+/g, "-").replace(/^[^A-Za-z0-9]+/, "");
  return name === "" ? undefined : name.slice(0, 253);
}

/** The forge whose events a scheme signs; none for one that others use too. */
const FORGE_OF_SCHEME: Readonly<Record<string, ForgeName>> = {
  github: "github",
  gitea: "github",
  gitlab: "gitlab",
};

/** The part of a Trigger that tells which events it takes. */
interface TakenEvents {
  readonly event: {
    readonly source: string;
    readonly webhook?: { readonly allowUnsigned?: boolean; readonly scheme?: string };
  };
}

/** The forge of a trigger's events; `undefined` if that is not known before an event comes. */
export function forgeOfEvents({ event: { webhook } }: TakenEvents): ForgeName | undefined {
  return FORGE_OF_SCHEME[webhook?.scheme ?? ""];
}

/**
 * Why no task of a trigger can have an answer at a forge, whatever Connections exist; `undefined` if
 * one can. An answer goes to the subject of an event whose sender was checked.
 */
export function whyNeverAnswered(spec: TakenEvents, forge: ForgeName): string | undefined {
  const { event: { source, webhook } } = spec;
  if (source === "cron" || source === "filesystem") {
    return `nothing of source "${source}" is about an issue, a ${
      FORGE_WORDS[forge].pull
    } or a commit`;
  }
  const from = forgeOfEvents(spec);
  if (from !== undefined && from !== forge) {
    return `the events of scheme "${webhook?.scheme}" are reported as report.${from} says`;
  }
  if (webhook?.allowUnsigned !== true) return undefined;
  return "nothing checks who sent its event (allowUnsigned), name a SecretStore under " +
    "event.webhook.secret.fromRef";
}
