/**
 * `svc describe`.
 *
 * @module
 */

import type { Client } from "../../api/client.ts";
import type { StepRecord } from "../../api/records.ts";
import { firstNote, mayBeBare, whyBare } from "../../api/sandbox_words.ts";
import type { PlannedStepView } from "../../api/task_operations.ts";
import { systemClock } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { findRecordName } from "../../resources/record_names.ts";
import { type Command, CONNECTION, defineCommand, PROJECT } from "../command.ts";
import { PLURALS } from "../listed_names.ts";
import { describeTask, type TaskFacts } from "../describe_task.ts";
import { describeDelivery, describeResource, type Facts } from "../describe_text.ts";
import { splitKindAndName } from "./get.ts";
import { printValue } from "../print.ts";

export const command: Command = defineCommand({
  help: "Shows one resource or record: what it is, what uses it, what is wrong with it, what " +
    "happened lately, and what to do next. -o json and -o yaml print the whole object; secret " +
    "values are masked unless you may read them.",
  arguments: [
    { name: "<kind>", help: "KIND/NAME, or KIND followed by a name", complete: PLURALS },
    {
      name: "[name]",
      help: "name; of a record, its id or a part of it, or latest",
      complete: "name",
    },
  ],
  options: [
    PROJECT,
    {
      flags: "-o, --output <format>",
      help: "how to print",
      choices: ["text", "json", "yaml"],
      fallback: "text",
    },
    ...CONNECTION,
  ],
  examples: [
    "svc describe trigger/github-push",
    "svc describe workflow build",
    "svc describe secretstore/github -o json",
  ],
  async run(context) {
    const { what, name } = splitKindAndName(context.argument(0), context.argument(1));
    if (name === "") {
      throw new AppError("usage", "Name one resource or record, such as task/ID or trigger/NAME");
    }
    const output = context.options.output;
    using client = context.client();
    const input = { what, name, ...context.project(), reveal: output !== "text" };
    const found = await client.call("describe", input);
    if (output !== "text") {
      return await printValue(found, output === "json" ? "json" : "yaml", context.io);
    }
    const { toYaml } = await import("../../resources/manifest.ts");
    const facts = { view: found, toYaml, now: systemClock.now(), columns: context.io.columns };
    const record = findRecordName(what);
    if (record === "task") {
      return context.io.out(await describeTask({ ...facts, ...await aboutTask(found, client) }));
    }
    if (record === "delivery") return context.io.out(describeDelivery(facts));
    if (record !== undefined) return await printValue(found, "yaml", context.io);
    context.io.out(await describeResource({ ...facts, ...await lately(found, client) }));
  },
});

/** Messages of a task that are shown. */
const ANSWERS = 10;
/** Tasks that its steps have started that are shown. */
const CHILDREN = 50;

/**
 * The messages that answer a task, which are younger than it, the tasks that its steps have started, and
 * its steps with their sandboxes.
 */
async function aboutTask(task: JsonObject, client: Client): Promise<Partial<TaskFacts>> {
  const id = String(task["id"]);
  const answers = await ifAllowed(
    client.call("get", { what: "outbox", task: id, after: id, limit: ANSWERS }),
  );
  const plan = (await ifAllowed(client.call("task.plan", { id })))?.steps;
  const starts = plan?.some(({ workflow }) => workflow !== undefined) === true;
  const children = starts
    ? await ifAllowed(client.call("get", { what: "task", parent: id, limit: CHILDREN }))
    : undefined;
  const waits = task["state"] === "waiting" && plan?.some(({ kind }) => kind === "wait") === true
    ? (await ifAllowed(client.call("task.waits", { id })))?.waits
    : undefined;
  return { answers, children, plan, waits, bare: await bareSteps(task, plan ?? [], client) };
}

/** The steps that run without the sandbox that they have by default, with why. */
async function bareSteps(
  task: JsonObject,
  plan: readonly PlannedStepView[],
  client: Client,
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const { id, started_at: at } of task["steps"] as readonly StepRecord[]) {
    const planned = plan.find((one) => one.id === id);
    if (at === null || planned === undefined || !mayBeBare(planned)) continue;
    const input = { id: String(task["id"]), step: id, ...firstNote(at) };
    const [line] = (await ifAllowed(client.call("task.log.read", input)))?.lines ?? [];
    const why = line && whyBare(line);
    if (why !== undefined) found.set(id, why);
  }
  return found;
}

/** Deliveries that are counted by outcome. */
const COUNTED = 100;
/** Tasks that are shown. */
const TASKS = 5;

/** The newest deliveries and tasks of a trigger or a workflow, and the SecretStore of a trigger. */
async function lately(view: JsonObject, client: Client): Promise<Partial<Facts>> {
  const { name, project } = view["metadata"] as { name: string; project?: string };
  const scope = project === undefined ? {} : { project };
  if (view["kind"] === "Workflow") {
    const tasks = await client.call("get", {
      what: "tasks",
      workflow: name,
      limit: TASKS,
      ...scope,
    });
    return { tasks };
  }
  if (view["kind"] !== "Trigger") return {};
  const own = { trigger: name, ...scope };
  const deliveries = await client.call("get", { what: "deliveries", limit: COUNTED, ...own });
  const tasks = await client.call("get", { what: "tasks", limit: TASKS, ...own });
  const { webhook_url: webhookUrl } = await ifAllowed(client.call("status", {})) ?? {};
  const store = storeOf(view);
  const secrets = store === undefined ? undefined : await ifAllowed(
    client.call("describe", { what: "secretstore", name: store, ...scope, reveal: false }),
  );
  return { deliveries, tasks, secrets, webhookUrl: webhookUrl ?? undefined };
}

function storeOf({ spec }: JsonObject): string | undefined {
  const { event } = spec as { event: { webhook?: { secret?: { fromRef?: string } } } };
  return event.webhook?.secret?.fromRef;
}

/**
 * The result of `work`; `undefined`, so that it is left out of the text, if a step's token may not
 * read it, or if it does not exist.
 */
async function ifAllowed<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof AppError && ["forbidden", "not_found"].includes(error.code)) {
      return undefined;
    }
    throw error;
  }
}
