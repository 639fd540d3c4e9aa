/**
 * `waitFor`: what a step waits for that runs nothing.
 *
 * @module
 */

import Type from "typebox";
import { findInstant } from "../base/clock.ts";
import { findDurationSecs } from "../base/duration.ts";
import { EVENT_VARIABLES } from "../cel/template.ts";
import { checkExpression, checkTemplate } from "./condition.ts";
import { expressionAt, type FieldExpression, templateExpressions } from "./expressions.ts";
import type { Reference } from "./kind.ts";
import { Name } from "./metadata.ts";
import { KEY_PATTERN } from "./names.ts";
import { errorAt, type FieldPath, type Finding } from "./resource.ts";
import { Duration } from "./timeout.ts";

/** Longest wait, in seconds. */
export const MAX_WAIT_SECS = 366 * 86_400;
/** {@linkcode MAX_WAIT_SECS} as text. */
export const MAX_WAIT = "366d";

/** Most expressions that an event has to match. */
const MAX_MATCHES = 5;
/** Most things that a step waits for at once. */
const MAX_PARTS = 10;

const Condition = Type.String({ minLength: 1, title: "a CEL expression, as text" });

/** What a step can wait for. */
const PART = {
  for: Type.Optional(Duration),
  until: Type.Optional(Type.String({
    minLength: 1,
    title: 'a time such as "2030-01-31T09:00:00Z", or a template that gives one',
  })),
  trigger: Type.Optional(Name),
  match: Type.Optional(Type.Record(Type.String(), Type.String(), {
    minProperties: 1,
    maxProperties: MAX_MATCHES,
    title: `a mapping of 1 to ${MAX_MATCHES} CEL expressions to the text that each has to give, ` +
      'such as {payload.workflow_run.head_sha: "{{ steps.push.outputs.sha }}"}',
  })),
  message: Type.Optional(Type.Boolean({ title: "true" })),
  if: Type.Optional(Condition),
  outputs: Type.Optional(Type.Record(Type.String({ pattern: KEY_PATTERN }), Condition, {
    title: "a mapping of names to CEL expressions, such as " +
      "{conclusion: payload.workflow_run.conclusion}",
  })),
  since: Type.Optional(Type.Unsafe<string | number>({
    type: ["string", "integer"],
    title: '"task" (from the event of the task on), "step" (from now on), or how far back: 10m',
  })),
};

const WaitForPart = Type.Object(PART, {
  additionalProperties: false,
  title: "a mapping, such as {trigger: github-checks, match: {…}}, {message: true} or {for: 10m}",
});

/** Schema of `waitFor`. */
export const WaitFor = Type.Object({
  ...PART,
  any: Type.Optional(Type.Array(WaitForPart, {
    minItems: 2,
    maxItems: MAX_PARTS,
    title: `a list of 2 to ${MAX_PARTS} things, of which the first that comes ends the wait`,
  })),
  timeout: Type.Optional(Duration),
  onTimeout: Type.Optional(Type.Enum(["fail", "continue"])),
}, {
  additionalProperties: false,
  title: 'a mapping, such as {for: 10m}, {until: "{{ payload.deploy_at }}"}, ' +
    "{trigger: github-checks, match: {…}, timeout: 2h} or {message: true, timeout: 3d}",
});

/** One of the things that a step waits for, as written by the user. */
export type WaitForPart = Type.Static<typeof WaitForPart>;
/** `waitFor`, as written by the user. */
export type WaitFor = Type.Static<typeof WaitFor>;

/** What a part waits for; the field of that name says it. */
const SUBJECTS = ["for", "until", "trigger", "message"] as const;
/** One of {@linkcode SUBJECTS}. */
export type WaitSubject = typeof SUBJECTS[number];

/** The fields that a part has beside the one that says what it waits for. */
const FIELDS: Readonly<Record<WaitSubject, readonly (keyof WaitForPart)[]>> = {
  for: [],
  until: [],
  trigger: ["match", "if", "outputs", "since"],
  message: ["if", "outputs"],
};

/** The variables that conditions of events see, and those of messages. */
const TASK_VARIABLES = ["steps", "task", "goal", "inputs"];
const OF_EVENTS = [...EVENT_VARIABLES, ...TASK_VARIABLES];
const OF_MESSAGES = ["message", ...TASK_VARIABLES];

/** What a part waits for. */
export function subjectOf(part: WaitForPart): WaitSubject {
  return SUBJECTS.find((name) => part[name] !== undefined) ?? "for";
}

/** The things that a step waits for, the one of `any` that comes first. */
export function partsOf({ any, timeout: _, onTimeout: __, ...only }: WaitFor): WaitForPart[] {
  return any ?? [only];
}

/** Checks `waitFor` at path `at`. */
export function checkWaitFor(waitFor: WaitFor, at: FieldPath): Finding[] {
  const { any, timeout, onTimeout, ...only } = waitFor;
  if (any !== undefined) {
    const [beside] = Object.keys(only);
    if (beside !== undefined) {
      return [errorAt([...at, beside], `"${beside}" belongs into one of the things under "any"`)];
    }
  }
  const parts = partsOf(waitFor);
  const findings = parts.flatMap((part, index) =>
    checkPart(part, any === undefined ? at : [...at, "any", index])
  );
  if (findings.length > 0) return findings;
  const hasTime = parts.some(({ for: time, until }) => (time ?? until) !== undefined);
  if (!hasTime && timeout === undefined) {
    return [errorAt(at, 'A wait for an event or a message needs "timeout", such as timeout: 2h')];
  }
  const needless = { timeout, onTimeout };
  for (const [field, value] of Object.entries(needless)) {
    if (!hasTime || value === undefined) continue;
    return [errorAt([...at, field], `A wait with a time is over at that, so it has no "${field}"`)];
  }
  return checkDuration(timeout, [...at, "timeout"]);
}

function checkPart(part: WaitForPart, at: FieldPath): Finding[] {
  const subjects = SUBJECTS.filter((name) => part[name] !== undefined);
  const [subject, ...more] = subjects;
  if (subject === undefined || more.length > 0) {
    return [errorAt(
      at,
      'A wait has one of "for" (how long), "until" (a time), "trigger" (an event) and "message"' +
        (more.length === 0 ? "" : `, found ${subjects.map((name) => `"${name}"`).join(" and ")}`),
    )];
  }
  const known: readonly string[] = [subject, ...FIELDS[subject]];
  const foreign = Object.keys(part).find((field) => !known.includes(field));
  if (foreign !== undefined) {
    return [errorAt([...at, foreign], `"${foreign}" is not for a wait with "${subject}"`)];
  }
  switch (subject) {
    case "for":
      return checkDuration(part.for, [...at, "for"]);
    case "until":
      return checkUntil(part.until ?? "", [...at, "until"]);
    case "trigger":
      return [
        ...checkMatch(part, at),
        ...checkSince(part.since, [...at, "since"]),
        ...seen(part, at),
      ];
    case "message":
      return part.message === true
        ? seen(part, at)
        : [errorAt([...at, "message"], "A wait for the next message has message: true")];
  }
}

/** Outputs that every wait has, and those of a message. */
const OWN_OUTPUTS = ["which", "timed_out", "delivery_id", "message", "text"];

/** Checks the expressions over what came. */
function seen(part: WaitForPart, at: FieldPath): Finding[] {
  const own = Object.keys(part.outputs ?? {}).find((name) => OWN_OUTPUTS.includes(name));
  if (own !== undefined) {
    return [errorAt([...at, "outputs", own], `The wait has an output "${own}" of its own`)];
  }
  const known = part.trigger === undefined ? OF_MESSAGES : OF_EVENTS;
  return [
    ...checkExpression(part.if, [...at, "if"], known),
    ...Object.entries(part.outputs ?? {}).flatMap(([name, source]) =>
      checkExpression(source, [...at, "outputs", name], known)
    ),
  ];
}

function checkMatch({ match }: WaitForPart, at: FieldPath): Finding[] {
  if (match === undefined) {
    return [errorAt(
      at,
      'A wait for an event needs "match": without it, two tasks would take each other\'s event',
    )];
  }
  return Object.entries(match).flatMap(([source, text]) => {
    const path = [...at, "match", source];
    if (text.trim() === "") return [errorAt(path, "The text to match is empty")];
    return [...checkExpression(source, path), ...checkTemplate(text, path)];
  });
}

function checkSince(since: WaitForPart["since"], at: FieldPath): Finding[] {
  if (since === undefined || since === "task" || since === "step" || isWaitTime(since)) return [];
  const message = `"since" is task, step, or how far back, 1s to ${MAX_WAIT}; found "${since}"`;
  return [errorAt(at, message)];
}

function isWaitTime(time: string | number): boolean {
  const secs = findDurationSecs(time) ?? 0;
  return secs > 0 && secs <= MAX_WAIT_SECS;
}

function checkDuration(time: string | number | undefined, at: FieldPath): Finding[] {
  if (time === undefined || isWaitTime(time)) return [];
  return [errorAt(at, `A wait takes 1s to ${MAX_WAIT}, found "${time}"`)];
}

function checkUntil(text: string, at: FieldPath): Finding[] {
  const findings = checkTemplate(text, at);
  if (text.includes("{{") || findings.length > 0 || findInstant(text) !== undefined) {
    return findings;
  }
  return [errorAt(
    at,
    `"until" is a time such as "2030-01-31T09:00:00Z", or a template that gives one; found "${text}"`,
  )];
}

/** The expressions of `waitFor` at path `at`: over the event of the task, and over those waited for. */
export function waitForExpressions(
  waitFor: WaitFor | undefined,
  at: FieldPath,
): FieldExpression[] {
  if (waitFor === undefined) return [];
  return partsOf(waitFor).flatMap((part, index) => {
    const path = waitFor.any === undefined ? at : [...at, "any", index];
    const { trigger } = part;
    const ofEvent = (source: string | undefined, ...field: string[]): FieldExpression[] =>
      trigger === undefined
        ? []
        : expressionAt(source, [...path, ...field]).map((one) => ({ ...one, trigger }));
    return [
      ...Object.keys(part.match ?? {}).flatMap((source) => ofEvent(source, "match", source)),
      ...ofEvent(part.if, "if"),
      ...Object.entries(part.outputs ?? {}).flatMap(([name, source]) =>
        ofEvent(source, "outputs", name)
      ),
      ...templateExpressions(part.until, [...path, "until"]),
      ...Object.entries(part.match ?? {}).flatMap(([source, text]) =>
        templateExpressions(text, [...path, "match", source])
      ),
    ];
  });
}

/** The triggers whose events `waitFor` at path `at` waits for. */
export function waitForReferences(waitFor: WaitFor | undefined, at: FieldPath): Reference[] {
  if (waitFor === undefined) return [];
  return partsOf(waitFor).flatMap(({ trigger }, index) => {
    if (trigger === undefined) return [];
    const path = waitFor.any === undefined ? at : [...at, "any", index];
    return [{
      kind: "Trigger",
      name: trigger,
      path: [...path, "trigger"],
      consequence: "the step fails until it is applied",
    }];
  });
}
