/**
 * The handlers of the operations that change files at a platform.
 *
 * @module
 */

import type { CHANGE_OPERATIONS } from "../api/change_operations.ts";
import { createPull, updatePull } from "./outputs/create_pull.ts";
import { pushCommitOf } from "./outputs/push_commit.ts";
import type { ChangeHost } from "./outputs/queue_change.ts";
import type { Handlers } from "./server/server.ts";

/** The handlers, by name of the operation. */
export function changeHandlers(
  host: ChangeHost,
): Pick<Handlers, keyof typeof CHANGE_OPERATIONS> {
  return {
    "github.pr_create": (input, caller, attached) => createPull(input, caller, attached, host),
    "github.pr_update": (input, caller) => updatePull(input, caller, host),
    "github.push": (input, caller, attached) => pushCommitOf(input, caller, attached, host),
  };
}
