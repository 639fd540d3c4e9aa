/**
 * `waitFor`: what a step waits for that runs nothing.
 *
 * @module
 */

import Type from "typebox";
import { findInstant } from "../base/clock.ts";
import { findDurationSecs } from "../base/duration.ts";
import { checkTemplate } from "./condition.ts";
import { type FieldExpression, templateExpressions } from "./expressions.ts";
import { errorAt, type FieldPath, type Finding } from "./resource.ts";
import { Duration } from "./timeout.ts";

/** Longest wait, in seconds. */
export const MAX_WAIT_SECS = 366 * 86_400;
/** {@linkcode MAX_WAIT_SECS} as text. */
export const MAX_WAIT = "366d";

/** Schema of `waitFor`. */
export const WaitFor = Type.Object({
  for: Type.Optional(Duration),
  until: Type.Optional(Type.String({
    minLength: 1,
    title: 'a time such as "2030-01-31T09:00:00Z", or a template that gives one',
  })),
}, {
  additionalProperties: false,
  title: 'a mapping, such as {for: 10m} or {until: "{{ payload.deploy_at }}"}',
});

/** `waitFor`, as written by the user. */
export type WaitFor = Type.Static<typeof WaitFor>;

/** Checks `waitFor` at path `at`. */
export function checkWaitFor(waitFor: WaitFor, at: FieldPath): Finding[] {
  const { for: time, until } = waitFor;
  if ((time === undefined) === (until === undefined)) {
    return [errorAt(at, 'A wait has either "for" (how long) or "until" (a time)')];
  }
  if (time !== undefined) {
    const secs = findDurationSecs(time) ?? 0;
    if (secs > 0 && secs <= MAX_WAIT_SECS) return [];
    return [errorAt([...at, "for"], `A wait takes 1s to ${MAX_WAIT}, found "${time}"`)];
  }
  const text = until ?? "";
  const findings = checkTemplate(text, [...at, "until"]);
  if (text.includes("{{") || findings.length > 0 || findInstant(text) !== undefined) {
    return findings;
  }
  return [errorAt(
    [...at, "until"],
    `"until" is a time such as "2030-01-31T09:00:00Z", or a template that gives one; found "${text}"`,
  )];
}

/** The expressions of `waitFor` at path `at`. */
export function waitForExpressions(
  waitFor: WaitFor | undefined,
  at: FieldPath,
): FieldExpression[] {
  return templateExpressions(waitFor?.until, [...at, "until"]);
}
