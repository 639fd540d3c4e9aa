/**
 * A trigger with another condition, for tools that show the effect of that condition.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { checkExpression } from "../../resources/condition.ts";
import type { Resource } from "../../resources/resource.ts";
import type { TriggerSpec } from "../../resources/trigger.ts";

/**
 * The trigger with another condition.
 *
 * @throws {AppError} `invalid` if the condition does not compile; its details say where and why.
 */
export function withFilter(
  applied: Resource<TriggerSpec>,
  condition: string,
): Resource<TriggerSpec> {
  const findings = checkExpression(condition, []).filter(({ level }) => level === "error");
  if (findings.length > 0) {
    const details = findings.map(({ message }) => message);
    throw new AppError("invalid", "The filter is not a valid condition", { details });
  }
  const { spec } = applied;
  return { ...applied, spec: { ...spec, event: { ...spec.event, filter: { condition } } } };
}
