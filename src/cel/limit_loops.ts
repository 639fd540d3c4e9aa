/**
 * Inserts a check of the time into the loops of a parse tree (`time_limit.ts`).
 *
 * @module
 */

import type { Expr } from "./parse.ts";
import { IN_TIME_NAME } from "./time_limit.ts";
import { walk } from "./walk.ts";

/** Makes each loop of a tree check the time before each of its rounds. */
export function limitLoops(root: Expr | undefined): void {
  walk(root, {
    loop(loop) {
      const { loopCondition } = loop;
      if (loopCondition === undefined) return;
      loop.loopCondition = {
        ...loopCondition,
        exprKind: {
          case: "callExpr",
          value: { $typeName: "cel.expr.Expr.Call", function: IN_TIME_NAME, args: [loopCondition] },
        },
      };
    },
  });
}
