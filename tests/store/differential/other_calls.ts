/**
 * Calls for what is neither delivery nor task, and those that only read.
 *
 * @module
 */

import type { ListQuery } from "../../../src/store/list_query.ts";
import { DELIVERY_FILTERS } from "../../../src/store/delivery_records.ts";
import { TASK_STATES } from "../../../src/store/task_records.ts";
import type { Resource } from "../../../src/resources/resource.ts";
import { keyOf } from "../../../src/resources/resource.ts";
import { idOf } from "../../helpers/store_records.ts";
import { type Call, call, type World } from "./world.ts";

/** Changes something that belongs to no task. */
export function changeOthers(world: World): Call {
  const { random, now } = world;
  return random.pick<() => Call>([
    () => call("moveCursor", { name: random.pick(["cron", "file"]), at: now }),
    () =>
      call(
        "recordKeyUse",
        [1, 2].map((count) => ({
          project: "default",
          store: "github",
          key: random.pick(["old", "new"]),
          trigger: "push",
          count,
          lastAt: now,
        })),
      ),
    () =>
      call("noteConnection", { project: "default", name: "c", createdAt: random.pick([1, 1, 2]) }, {
        ...random.maybe(2, "fault", () => random.pick([null, "refused"])),
        ...random.maybe(2, "login", () => "bot"),
      }, now),
    () => call("changeResources", [someChange(world)]),
  ])();
}

function someChange({ random, resources, now }: World) {
  const key = { kind: "Workspace", project: "default", name: random.pick(["a", "b"]) };
  const before = resources.get(keyOf(key));
  if (random.once(4)) {
    resources.delete(keyOf(key));
    return { op: "delete", key } as const;
  }
  const resource: Resource = {
    ...key,
    metadata: {},
    spec: { now },
    generation: (before?.generation ?? 0) + 1,
    createdAt: before?.createdAt ?? now,
    updatedAt: now,
  };
  if (random.once(5)) return { op: "put", resource: { ...resource, generation: 3 } } as const;
  resources.set(keyOf(key), resource);
  return { op: "put", resource } as const;
}

/** Reads a part of a list. */
export function read(world: World): Call {
  const { random } = world;
  const query = someQuery(world);
  const task = world.someTask();
  return random.pick<() => Call>([
    () =>
      call("listTasks", {
        ...query,
        ...random.maybe(3, "state", () => random.pick(TASK_STATES)),
        ...random.maybe(5, "workflow", () => "ci"),
        ...random.maybe(9, "delivery", () => random.recent(world.deliveries, "")),
        ...random.maybe(9, "parent", () => task),
      }),
    () =>
      call("listDeliveries", {
        ...query,
        ...random.maybe(2, "outcome", () => random.pick(DELIVERY_FILTERS)),
        ...random.maybe(5, "reason", () => random.pick(["CONDITION", "is false", "\0"])),
        ...random.maybe(9, "status", () => 200),
      }),
    () => call("listSourceEvents", query),
    () => call("listBindings", query),
    () => call("listConversations", query),
    () => call("listMessages", query),
    () => call("findIds", "task", task.slice(-random.below(9)), { limit: 5, newest: 20 }),
    () => call("nthId", "delivery", { ...query, nth: 1 + random.below(5) }),
    () => call("findThreadOfTask", task),
    () => call("counts"),
    () => call("outboxCounts"),
  ])();
}

function someQuery(world: World): ListQuery {
  const { random, now } = world;
  const someId = () => random.recent(world.deliveries, idOf(1));
  return {
    limit: 1 + random.below(20),
    ...random.maybe(3, "project", () => random.pick(["default", "shop"])),
    ...random.maybe(3, "trigger", () => random.pick(["push", "chat"])),
    ...random.maybe(5, "since", () => now - random.below(5000)),
    ...random.maybe(5, "until", () => now - random.below(5000)),
    ...random.maybe(6, "before", someId),
    ...random.maybe(6, "after", someId),
    ...random.maybe(8, "ids", () => [someId(), someId()]),
    ...random.maybe(3, "oldestFirst", () => true),
  };
}
