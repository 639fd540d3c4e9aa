/**
 * The operations on nodes, the daemons that share a database.
 *
 * @module
 */

import Type from "typebox";
import { defineOperation, json, reference } from "./operation.ts";

/** The operations on nodes, by name. */
export const NODE_OPERATIONS = {
  "node.forget": defineOperation({
    summary: "Forgets a node that has ended, so that others take over at once what it ran",
    input: { name: reference("node"), force: Type.Boolean() },
    output: json<{ readonly name: string }>(),
    role: "admin",
  }),
};
