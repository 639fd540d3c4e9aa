/**
 * The operations that delete single records with their content.
 *
 * @module
 */

import Type from "typebox";
import { defineOperation, DELIVERY, json, TASK } from "./operation.ts";

/** The result of a deletion, or of its dry run. */
export interface DeletedRecords {
  /** The records as `delivery/ID` and `task/ID`, those that the request names first. */
  readonly deleted: readonly string[];
  /** Records that stay and hold some of the same content, as `delivery/ID` and `task/ID`. */
  readonly kept_by: readonly string[];
  /** Files that could not be removed yet, a sentence each. */
  readonly warnings: readonly string[];
}

const DRY_RUN = Type.Optional(Type.Boolean({ description: "Only says what it would do" }));

/** The operations on records of any type, by name. */
export const RECORD_OPERATIONS = {
  "task.delete": defineOperation({
    summary: "Deletes a task that has ended, with its log, its files and everything else it owns",
    input: { id: TASK, dry_run: DRY_RUN },
    output: json<DeletedRecords>(),
    role: "admin",
  }),
  "delivery.delete": defineOperation({
    summary: "Deletes a delivery with its body and headers, and with `cascade` its tasks",
    input: {
      id: DELIVERY,
      cascade: Type.Optional(
        Type.Boolean({ description: "Also deletes its tasks; without it, svc refuses" }),
      ),
      dry_run: DRY_RUN,
    },
    output: json<DeletedRecords>(),
    role: "admin",
  }),
};
