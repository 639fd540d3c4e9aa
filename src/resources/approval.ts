/**
 * `approval` of a step: a question to people, which the task waits for.
 *
 * @module
 */

import Type from "typebox";
import { findDurationSecs } from "../base/duration.ts";
import { FORGES } from "../base/forge_names.ts";
import { listed } from "../base/sentence.ts";
import { compileExpression } from "../cel/expression.ts";
import { checkTemplate } from "./condition.ts";
import { type FieldExpression, templateExpressions } from "./expressions.ts";
import type { Reference } from "./kind.ts";
import { KEY_PATTERN } from "./names.ts";
import { PERSON_KIND } from "./person.ts";
import { errorAt, type FieldPath, type Finding } from "./resource.ts";
import { TellField, tellReferences } from "./tell.ts";
import { Duration } from "./timeout.ts";
import { MAX_WAIT, MAX_WAIT_SECS } from "./wait_for.ts";

/** Stands in `by` for anybody who opens the socket of the daemon, without a token. */
export const BY_SOCKET = "socket";

/** The entries of `by` that a forge is asked about: all who may write to the repository of the event. */
export const BY_WRITERS: readonly string[] = FORGES.map((forge) => `${forge}:write`);

/** How long a question is open if nothing else is said. */
export const DEFAULT_APPROVAL_TIMEOUT = "7d";

/** The group that an entry of `by` names; `undefined` for another entry. */
export function groupIn(entry: string): string | undefined {
  return entry.startsWith("@") ? entry.slice(1) : undefined;
}

/** The Person that an entry of `by` names; `undefined` for another entry. */
export function personIn(entry: string): string | undefined {
  return entry === BY_SOCKET || /[@:]/.test(entry) ? undefined : entry;
}

/** A list of those who may answer; `others` beside Persons, groups and the socket. */
export function answerersField(others: readonly string[]) {
  return Type.Array(
    Type.String({
      pattern: `^(${["@?[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", ...others].join("|")})$`,
      title: listed(["the name of a Person", '"@" and a group', ...others, BY_SOCKET], "or"),
    }),
    {
      minItems: 1,
      maxItems: 50,
      uniqueItems: true,
      title: 'a list of those who may answer, such as [ada, "@ops"]',
    },
  );
}

const Field = Type.Object({
  type: Type.Enum(["text", "choice"]),
  default: Type.Optional(Type.String({ title: "a text, which may be a template" })),
  of: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
    minItems: 1,
    maxItems: 50,
    uniqueItems: true,
    title: "a list of different texts, such as [eu, us]",
  })),
}, {
  additionalProperties: false,
  title: "a mapping, such as {type: text} or {type: choice, of: [eu, us]}",
});

/** Schema of `approval`. */
export const Approval = Type.Object({
  ask: Type.String({ minLength: 1, title: "a question, which may be a template" }),
  by: answerersField(BY_WRITERS),
  need: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 5, title: "a number of people, 1 to 5" }),
  ),
  fourEyes: Type.Optional(Type.Boolean({ title: "true or false" })),
  diff: Type.Optional(Type.Boolean({ title: "true or false" })),
  fields: Type.Optional(Type.Record(
    Type.String({ pattern: KEY_PATTERN }),
    Field,
    { title: "a mapping of names to fields" },
  )),
  tell: Type.Optional(TellField),
  timeout: Type.Optional(Duration),
  onReject: Type.Optional(Type.Enum(["fail", "continue"])),
}, {
  additionalProperties: false,
  title: 'a mapping, such as {ask: "Deploy?", by: [ada]}',
});

/** `approval`, as written by the user. */
export type Approval = Type.Static<typeof Approval>;

/** Outputs that every approval has; no field has such a name. */
const OWN_OUTPUTS = ["answer", "by", "comment"];
const MAX_FIELDS = 20;

/** Checks `approval` at path `at`. */
export function checkApproval(approval: Approval, at: FieldPath): Finding[] {
  return [
    ...checkTemplate(approval.ask, [...at, "ask"]),
    ...checkPeople(approval, at),
    ...checkFields(approval.fields ?? {}, [...at, "fields"]),
    ...checkOpenTime(approval.timeout, [...at, "timeout"]),
  ];
}

/** Nobody is counted twice, and an opener of the socket, who is nobody in particular, not beside others. */
function checkPeople({ by, need = 1, fourEyes }: Approval, at: FieldPath): Finding[] {
  const hasSocket = by.includes(BY_SOCKET);
  const nobody = `who opens the socket is nobody in particular: take "${BY_SOCKET}" out of "by"`;
  if (hasSocket && fourEyes === true) {
    return [errorAt([...at, "fourEyes"], `With "fourEyes", all are told apart, and ${nobody}`)];
  }
  if (hasSocket && need > 1) {
    return [errorAt([...at, "need"], `With "need", people are counted, and ${nobody}`)];
  }
  const named = by.every((entry) => personIn(entry) !== undefined);
  if (!named || need <= by.length) return [];
  return [errorAt(
    [...at, "need"],
    `${need} people have to approve, and "by" names ${by.length}: nobody could decide it`,
  )];
}

function checkFields(fields: NonNullable<Approval["fields"]>, at: FieldPath): Finding[] {
  const entries = Object.entries(fields);
  if (entries.length > MAX_FIELDS) {
    return [errorAt(at, `A question has at most ${MAX_FIELDS} fields, this one ${entries.length}`)];
  }
  return entries.flatMap(([name, { type, of, default: preset }]): Finding[] => {
    const here = [...at, name];
    if (OWN_OUTPUTS.includes(name)) {
      return [errorAt(here, `"${name}" is an output of every approval: choose another name`)];
    }
    if ((type === "choice") !== (of !== undefined)) {
      return [errorAt(here, 'A field of type "choice" has "of", and no other has it')];
    }
    const findings = preset === undefined ? [] : checkTemplate(preset, [...here, "default"]);
    const isOther = preset !== undefined && of !== undefined && !preset.includes("{{") &&
      !of.includes(preset);
    if (!isOther) return findings;
    return [errorAt([...here, "default"], `Expected one of ${of.join(", ")}, found "${preset}"`)];
  });
}

/** Checks how long a question is open. */
export function checkOpenTime(timeout: Approval["timeout"], at: FieldPath): Finding[] {
  const secs = findDurationSecs(timeout ?? DEFAULT_APPROVAL_TIMEOUT) ?? 0;
  if (secs > 0 && secs <= MAX_WAIT_SECS) return [];
  return [errorAt(at, `A question is open for 1s to ${MAX_WAIT}, found "${timeout}"`)];
}

/**
 * Refuses `onReject: continue` where a step comes next that does not ask what the answer was: it would
 * do what was rejected.
 *
 * @param next The steps that need the approval directly.
 */
export function checkOnReject(
  { id, approval }: { readonly id: string; readonly approval?: Approval | undefined },
  next: readonly { readonly id: string; readonly when?: string | undefined }[],
  at: FieldPath,
): Finding[] {
  if (approval?.onReject !== "continue") return [];
  const blind = next.find(({ when }) => when === undefined || !readsAnswer(when, id));
  if (blind === undefined) return [];
  return [errorAt(
    [...at, "approval", "onReject"],
    `Step "${blind.id}" would run whatever the answer is: give it ` +
      `when: steps.${id}.outputs.answer == "approved"`,
  )];
}

/** Whether an expression reads the answer: after a rejection, the step has succeeded, and has a comment. */
function readsAnswer(source: string, id: string): boolean {
  try {
    return compileExpression(source).paths.some(([variable, step, outputs, name]) =>
      variable === "steps" && step === id && outputs === "outputs" && name === "answer"
    );
  } catch {
    return true; // reported where it is checked
  }
}

/** The expressions of `approval` at path `at`. */
export function approvalExpressions(
  approval: Approval | undefined,
  at: FieldPath,
): FieldExpression[] {
  if (approval === undefined) return [];
  return [
    ...templateExpressions(approval.ask, [...at, "ask"]),
    ...Object.entries(approval.fields ?? {}).flatMap(([name, field]) =>
      templateExpressions(field.default, [...at, "fields", name, "default"])
    ),
  ];
}

/** The references of `approval` at path `at`. */
export function approvalReferences(approval: Approval | undefined, at: FieldPath): Reference[] {
  return [
    ...answererReferences(approval?.by, [...at, "by"]),
    ...tellReferences(approval?.tell, [...at, "tell"]),
  ];
}

/** The Persons in a list of those who may answer, at path `at`. */
export function answererReferences(by: readonly string[] = [], at: FieldPath): Reference[] {
  return by.flatMap((entry, index) => {
    const name = personIn(entry);
    if (name === undefined) return [];
    const consequence = "nobody of that name can answer until it is applied";
    return [{ kind: PERSON_KIND, name, path: [...at, index], consequence }];
  });
}
