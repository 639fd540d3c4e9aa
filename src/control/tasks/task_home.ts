/**
 * Finds the node that has the files of a task.
 *
 * @module
 */

import type { NodeStore } from "../../store/node_store.ts";
import type { Task } from "../../store/task_records.ts";

/** This node, another node, or a node that was forgotten. */
export type TaskHome =
  | { readonly is: "here" | "gone" }
  | { readonly is: "elsewhere"; readonly node: string };

/** The node that ran a task last. */
export async function findTaskHome(
  { node: id }: Pick<Task, "node">,
  store: Pick<NodeStore, "listNodes">,
): Promise<TaskHome> {
  if (id === undefined) return { is: "here" };
  const node = (await store.listNodes()).find((one) => one.id === id);
  if (node === undefined) return { is: "gone" };
  return node.isSelf ? { is: "here" } : { is: "elsewhere", node: node.name };
}
