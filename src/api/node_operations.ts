/**
 * The operations on nodes, the daemons that share a database.
 *
 * @module
 */

import Type from "typebox";
import { defineOperation, json, reference } from "./operation.ts";

/** A node that takes no new tasks, or takes them again. */
export interface Drained {
  readonly name: string;
  readonly drained: boolean;
  /** Number of tasks that run there, which go on. */
  readonly running: number;
  /** Whether any node takes tasks; if not, they wait. */
  readonly any_takes_tasks: boolean;
}

/** The operations on nodes, by name. */
export const NODE_OPERATIONS = {
  "node.drain": defineOperation({
    summary:
      "Lets a node take no new tasks while it finishes what runs, or lets it take them again",
    input: { name: reference("node"), drained: Type.Boolean() },
    output: json<Drained>(),
    role: "operator",
  }),
  "node.forget": defineOperation({
    summary: "Forgets a node that has ended, so that others take over its tasks at once",
    input: { name: reference("node"), force: Type.Boolean() },
    output: json<{ readonly name: string }>(),
    role: "admin",
  }),
};
