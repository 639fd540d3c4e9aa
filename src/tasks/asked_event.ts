/**
 * What a step asks of the event or the message that it waits for, as it is stored with its wait. Any
 * daemon can look by it, without the task.
 *
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import type { Evaluator } from "../cel/evaluator.ts";
import { compileExpression, scopeOf, whyNotTrue } from "../cel/expression.ts";
import { textOf } from "../cel/template.ts";
import { cutOut } from "../cel/values.ts";
import type { WaitOutputs } from "../store/wait_records.ts";

/** A condition on what comes, and what the step takes from it. */
export interface AskedOfArrival {
  /** CEL; whatever matches counts when absent. */
  readonly if?: string;
  /** CEL by the name of the output. */
  readonly outputs?: Readonly<Record<string, string>>;
  /** What these expressions read of the task, as it was when the wait opened. */
  readonly scope?: JsonObject;
}

/** What is asked of an event. */
export interface AskedEvent extends AskedOfArrival {
  /** The expressions whose texts make the key, sorted. */
  readonly expressions: readonly string[];
  /** The text that each of them has to give. */
  readonly texts: readonly string[];
  /** Only ids of deliveries behind this one count. */
  readonly from: string;
  /** The delivery that started the task, which never counts. */
  readonly not: string;
}

/** The variables of a task that these expressions see beside those of what comes. */
const OF_TASK: readonly string[] = ["steps", "task", "goal", "inputs"];

/** The part of the variables of a task that these expressions read. */
export function readOfTask(
  { if: condition, outputs = {} }: Pick<AskedOfArrival, "if" | "outputs">,
  variables: Readonly<JsonObject>,
): JsonObject {
  const sources = [...Object.values(outputs), ...(condition === undefined ? [] : [condition])];
  const paths = sources.flatMap((source) => compileExpression(source).paths)
    .filter(([name]) => OF_TASK.includes(name));
  return cutOut(variables, paths.toSorted((a, b) => a.length - b.length));
}

/** The outputs that what came gives, or why it does not end the wait: words that follow "the condition". */
export type Judged = { readonly outputs: WaitOutputs } | { readonly whyNot: string };

/** Judges what came, whose variables these are. An output whose expression fails is empty. */
export async function judge(
  { if: condition, outputs = {}, scope: ofTask = {} }: AskedOfArrival,
  variables: Readonly<JsonObject>,
  { evaluator, share }: { readonly evaluator: Evaluator; readonly share: string },
): Promise<Judged> {
  const scope = scopeOf({ ...variables, ...ofTask }, share);
  if (condition !== undefined) {
    const whyNot = whyNotTrue(await evaluator.evaluate(compileExpression(condition), scope));
    if (whyNot !== undefined) return { whyNot };
  }
  const given: [string, string][] = [];
  for (const [name, source] of Object.entries(outputs)) {
    const result = await evaluator.evaluate(compileExpression(source), scope);
    given.push([name, result.ok ? textOf(result.value).slice(0, MAX_OUTPUT) : ""]);
  }
  return { outputs: Object.fromEntries(given) };
}

/** Most characters of an output. */
const MAX_OUTPUT = 64 * 1024;
