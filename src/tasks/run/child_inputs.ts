/**
 * What a step gives to the tasks that it starts (`with`), once for each item of its list.
 *
 * @module
 */

import { oneLine } from "../../agents/readable.ts";
import { AppError } from "../../base/errors.ts";
import { parseOwnJson, toJson } from "../../base/json.ts";
import { compileExpression, type Scope, scopeOf } from "../../cel/expression.ts";
import { compileTemplate, renderTemplate } from "../../cel/template.ts";
import { isHeavier } from "../../cel/values.ts";
import { MAX_ITEMS } from "../../resources/child_workflow.ts";
import type { PlannedStep } from "../plan.ts";
import type { TaskContext } from "./task_context.ts";

/** Most characters of an item, and of all inputs of a child. */
const MAX_ITEM = 64 * 1024;
/** Most characters of all inputs of all items. */
const MAX_ALL = 4 * 1024 * 1024;

/** The inputs of one child. */
export type Inputs = Readonly<Record<string, string>>;

/**
 * The inputs of each child of a step, in the order of its items.
 *
 * @throws {AppError} `invalid`, saying what was found.
 */
export async function inputsOf(
  { with: given = {}, forEach }: Pick<PlannedStep, "with" | "forEach">,
  { scope, evaluator }: Pick<TaskContext, "scope" | "evaluator">,
): Promise<Inputs[]> {
  if (forEach === undefined) return [await filled(given, scope, evaluator)];
  const all: Inputs[] = [];
  let length = 0;
  for (const [index, item] of (await itemsOf(forEach, { scope, evaluator })).entries()) {
    const inputs = await filled(given, withItem(scope, item, index), evaluator);
    length += JSON.stringify(inputs).length;
    if (length > MAX_ALL) {
      throw new AppError(
        "invalid",
        `"with" gives more than ${MAX_ALL / 1024} KiB for all items together`,
      );
    }
    all.push(inputs);
  }
  return all;
}

async function itemsOf(
  source: string,
  { scope, evaluator }: Pick<TaskContext, "scope" | "evaluator">,
): Promise<readonly unknown[]> {
  const result = await evaluator.evaluate(compileExpression(source), scope);
  if (!result.ok) throw new AppError("invalid", `"forEach" has no value: ${result.error}`);
  const { value } = result;
  if (!Array.isArray(value)) {
    throw new AppError("invalid", `"forEach" gave ${oneLine(toJson(value), 80)}, which is no list`);
  }
  if (value.length > MAX_ITEMS) {
    throw new AppError("invalid", `"forEach" gave ${value.length} items, ${MAX_ITEMS} at most`);
  }
  return value.map((item, index) => {
    const json = toJson(item);
    if (json.length <= MAX_ITEM) return parseOwnJson(json);
    throw new AppError(
      "invalid",
      `item ${index} of "forEach" has more than ${MAX_ITEM / 1024} KiB`,
    );
  });
}

/** The variables of a step with those of an item; what is made on demand stays so. */
function withItem({ variables, share }: Scope, item: unknown, index: number): Scope {
  const own = {
    item: { value: item, enumerable: true },
    index: { value: index, enumerable: true },
  };
  const all = { ...Object.getOwnPropertyDescriptors(variables), ...own };
  return scopeOf(Object.defineProperties({}, all), share);
}

async function filled(
  given: Inputs,
  scope: Scope,
  evaluator: TaskContext["evaluator"],
): Promise<Inputs> {
  const inputs: Record<string, string> = {};
  for (const [name, text] of Object.entries(given)) {
    inputs[name] = (await renderTemplate(compileTemplate(text), scope, evaluator)).toWellFormed();
  }
  if (!isHeavier(inputs, MAX_ITEM)) return inputs;
  throw new AppError(
    "invalid",
    `"with" gives more than ${MAX_ITEM / 1024} KiB: let the other workflow read it from a file`,
  );
}
