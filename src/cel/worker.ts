/**
 * The Worker of `cel_worker.ts`: evaluates one expression after another, without any permission.
 *
 * @module
 */

import { isJsonObject, parseOwnJson } from "../base/json.ts";
import { messageOf } from "../base/errors.ts";
import { type CelResult, compileExpression, type Expression, scopeOf } from "./expression.ts";
import type { EvaluationRequest } from "./cel_worker.ts";

const scope = globalThis as unknown as DedicatedWorkerGlobalScope;
const compiled = new Map<string, Expression>();

function evaluate(request: EvaluationRequest): CelResult {
  try {
    const expression = compiled.get(request.source) ?? compileExpression(request.source);
    if (compiled.size > 1000) compiled.clear();
    compiled.set(request.source, expression);
    const variables = parseOwnJson(request.variables);
    return expression.run(scopeOf(isJsonObject(variables) ? variables : {}), request.loopsMs);
  } catch (error) {
    return { ok: false, error: messageOf(error) };
  }
}

scope.onmessage = (event: MessageEvent<EvaluationRequest>) => {
  scope.postMessage(evaluate(event.data));
};

scope.postMessage("ready");
