/**
 * Whether an event ends a wait: by its key, its place among the events, and the condition of the wait.
 *
 * @module
 */

import type { Evaluator } from "../../cel/evaluator.ts";
import { compileExpression, scopeOf } from "../../cel/expression.ts";
import { textOf } from "../../cel/template.ts";
import { canMatch, digestOf } from "../../store/rules/wait_keys.ts";
import type { KeyedPart, WaitKey } from "../../store/wait_records.ts";
import { type AskedEvent, judge, type Judged } from "../../tasks/asked_event.ts";
import { eventVariables } from "../admission/admit.ts";
import type { SeenEvent } from "./seen_events.ts";

/** What evaluates expressions, and the queue in which slow ones wait. */
export interface Matching {
  readonly evaluator: Evaluator;
  readonly share: string;
}

/** The texts that an event gives for expressions; `undefined` in the place of one that gives none. */
export async function textsOf(
  expressions: readonly string[],
  { event }: SeenEvent,
  { evaluator, share }: Matching,
): Promise<readonly (string | undefined)[]> {
  const compiled = expressions.map((source) => compileExpression(source));
  const readsSigned = compiled.some(({ variables }) => variables.has("signed"));
  const scope = scopeOf(eventVariables(event, readsSigned), share);
  const texts: (string | undefined)[] = [];
  for (const expression of compiled) {
    const result = await evaluator.evaluate(expression, scope);
    const text = result.ok ? textOf(result.value) : "";
    texts.push(canMatch(text) ? text : undefined);
  }
  return texts;
}

/** The key of an event for waits of a shape; `undefined` if it matches none of them. */
export async function keyOfEvent(
  shape: string,
  expressions: readonly string[],
  seen: SeenEvent,
  matching: Matching,
): Promise<Pick<WaitKey, "shape" | "digest"> | undefined> {
  const texts = await textsOf(expressions, seen, matching);
  const all = texts.filter((text) => text !== undefined);
  return all.length < texts.length ? undefined : { shape, digest: digestOf(all) };
}

/**
 * Why a wait of this task cannot end by an event, whatever its content; `undefined` for one behind where
 * the wait begins that has not started the task.
 */
export function whyNotNew(
  { delivery: { id }, startedId }: Pick<SeenEvent, "startedId"> & {
    readonly delivery: { readonly id: string };
  },
  { from, not }: Pick<AskedEvent, "from" | "not">,
  taskId: string,
): string | undefined {
  if (id === not || startedId === taskId) return "its own task began with this event";
  return id > from ? undefined : "it began to wait for later events";
}

/** Judges an event that has the key of a wait. */
export async function judgeEvent(
  seen: SeenEvent,
  { asked, taskId }: Pick<KeyedPart, "asked" | "taskId">,
  matching: Matching,
): Promise<Judged> {
  const event = asked as unknown as AskedEvent;
  const whyNot = whyNotNew(seen, event, taskId);
  if (whyNot !== undefined) return { whyNot };
  const sources = [event.if ?? "", ...Object.values(event.outputs ?? {})];
  const readsSigned = sources.some((source) => source.includes("signed"));
  return await judge(event, eventVariables(seen.event, readsSigned), matching);
}
