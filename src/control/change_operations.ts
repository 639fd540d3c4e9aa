/**
 * The handlers of the operations that change files at a platform.
 *
 * @module
 */

import type { CHANGE_OPERATIONS } from "../api/change_operations.ts";
import type { Input } from "../api/operations.ts";
import type { Caller } from "../auth/caller.ts";
import type { ForgeName } from "../base/forge_names.ts";
import { KeyedMutex } from "../base/keyed_mutex.ts";
import { createPull, updatePull } from "./outputs/create_pull.ts";
import { pushCommitOf } from "./outputs/push_commit.ts";
import type { ChangeHost } from "./outputs/queue_change.ts";
import type { AttachedFile } from "./server/input_reader.ts";
import type { Handlers } from "./server/server.ts";

/** The handlers, by name of the operation. */
export function changeHandlers(
  host: ChangeHost,
): Pick<Handlers, keyof typeof CHANGE_OPERATIONS> {
  // Each change takes memory, and a minute of git at worst: a task has one at a time.
  const turns = new KeyedMutex();
  const inTurn = <Result>(asked: string, { grant }: Caller, work: () => Promise<Result>) =>
    turns.run(grant?.taskId ?? asked, work);
  const at = (forge: ForgeName) => ({
    create: (input: Input<"github.pr_create">, caller: Caller, attached: AttachedFile) =>
      inTurn(input.task, caller, () => createPull({ forge, input, caller }, attached, host)),
    update: (input: Input<"github.pr_update">, caller: Caller) =>
      updatePull({ forge, input, caller }, host),
    push: (input: Input<"github.push">, caller: Caller, attached: AttachedFile) =>
      inTurn(input.task, caller, () => pushCommitOf({ forge, input, caller }, attached, host)),
  });
  const [github, gitlab] = [at("github"), at("gitlab")];
  return {
    "github.pr_create": github.create,
    "github.pr_update": github.update,
    "github.push": github.push,
    "gitlab.mr_create": gitlab.create,
    "gitlab.mr_update": gitlab.update,
    "gitlab.push": gitlab.push,
  };
}
