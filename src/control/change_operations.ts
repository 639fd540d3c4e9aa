/**
 * The handlers of the operations that change files at a platform.
 *
 * @module
 */

import type { CHANGE_OPERATIONS } from "../api/change_operations.ts";
import type { Caller } from "../auth/caller.ts";
import { KeyedMutex } from "../base/keyed_mutex.ts";
import { createPull, updatePull } from "./outputs/create_pull.ts";
import { pushCommitOf } from "./outputs/push_commit.ts";
import type { ChangeHost } from "./outputs/queue_change.ts";
import type { Handlers } from "./server/server.ts";

/** The handlers, by name of the operation. */
export function changeHandlers(
  host: ChangeHost,
): Pick<Handlers, keyof typeof CHANGE_OPERATIONS> {
  // Each change takes memory, and a minute of git at worst: a task has one at a time.
  const turns = new KeyedMutex();
  const inTurn = <Result>(asked: string, { grant }: Caller, work: () => Promise<Result>) =>
    turns.run(grant?.taskId ?? asked, work);
  return {
    "github.pr_create": (input, caller, attached) =>
      inTurn(
        input.task,
        caller,
        () => createPull({ forge: "github", input, caller }, attached, host),
      ),
    "github.pr_update": (input, caller) => updatePull({ forge: "github", input, caller }, host),
    "github.push": (input, caller, attached) =>
      inTurn(
        input.task,
        caller,
        () => pushCommitOf({ forge: "github", input, caller }, attached, host),
      ),
  };
}
