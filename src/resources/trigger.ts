/**
 * Kind `Trigger`: binds one source of events to one workflow in one workspace. The block of each
 * source comes from `events.ts`.
 *
 * @module
 */

import { PRIORITIES, type Priority } from "./priority.ts";
import Type from "typebox";
import { FORGES } from "../base/forge_names.ts";
import { GOAL_VARIABLES } from "../cel/template.ts";
import { BUDGET_FIELDS, type Budgeted, budgetReferences, checkBudget } from "./budget.ts";
import { checkExpression, checkTemplate } from "./condition.ts";
import { checkConversation, CONVERSATION, Conversation } from "./conversation.ts";
import { endpointOf } from "./endpoints.ts";
import type { CronSpec } from "./event_cron.ts";
import type { FilesystemSpec } from "./event_filesystem.ts";
import type { TaskEventSpec } from "./event_task.ts";
import type { WebhookSpec } from "./event_webhook.ts";
import { EVENTS } from "./events.ts";
import { expressionAt, templateExpressions } from "./expressions.ts";
import { type AnyKind, defineKind, type Reference } from "./kind.ts";
import { checkReport, Report, reportExpressions, whyNeverAnswered } from "./report.ts";
import { checkRetention, Retention } from "./retention.ts";
import { Name } from "./metadata.ts";
import { errorAt, type FieldPath, type Finding, type Resource, warningAt } from "./resource.ts";

const Concurrency = Type.Object({
  policy: Type.Optional(Type.Enum(["Allow", "Forbid", "Replace", "Queue"])),
  key: Type.Optional(Type.String({ minLength: 1, title: "a CEL expression" })),
  max: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
}, { additionalProperties: false });

/** `spec.concurrency` as written by the user. */
export type Concurrency = Type.Static<typeof Concurrency>;

const TriggerSchema = Type.Object({
  event: Type.Object({
    source: Type.Enum(EVENTS.map((event) => event.source)),
    ...Object.fromEntries(EVENTS.map((event) => [event.source, Type.Optional(event.schema)])),
    filter: Type.Optional(Type.Object({
      condition: Type.String({ minLength: 1, title: "a CEL expression" }),
    }, { additionalProperties: false })),
  }, { additionalProperties: false }),
  suspend: Type.Optional(Type.Boolean()),
  priority: Type.Optional(Type.Enum([...PRIORITIES])),
  report: Type.Optional(Report),
  concurrency: Type.Optional(Concurrency),
  conversation: Type.Optional(Conversation),
  retention: Type.Optional(Retention),
  ...BUDGET_FIELDS,
  action: Type.Optional(Type.Object({
    workflow: Name,
    workspace: Name,
    goal: Type.Optional(Type.String({ minLength: 1 })),
  }, { additionalProperties: false })),
}, { additionalProperties: false });

/** `spec` of a Trigger. */
export interface TriggerSpec extends Budgeted {
  /** The source of events, and the filter on them. */
  readonly event: {
    readonly source: string;
    readonly webhook?: WebhookSpec;
    readonly cron?: CronSpec;
    readonly filesystem?: FilesystemSpec;
    readonly task?: TaskEventSpec;
    /** Condition that an event has to meet. */
    readonly filter?: { readonly condition: string };
  };
  /** Whether deliveries are only recorded and start nothing. */
  readonly suspend?: boolean;
  /** Whether workers take its tasks before or after those of others. */
  readonly priority?: Priority;
  /** The answer for each of its tasks. */
  readonly report?: Report;
  /** Limit on its tasks at the same time. */
  readonly concurrency?: Concurrency;
  /** The conversation that its events belong to: those of one key go to one task while it has not ended. */
  readonly conversation?: Conversation;
  /** How long its records are kept, if not as long as the settings of the daemon say. */
  readonly retention?: Retention;
  /**
   * The task that an event starts; `goal` is a text template. Absent for a trigger whose events start
   * nothing, because steps only wait for them.
   */
  readonly action?: {
    readonly workflow: string;
    readonly workspace: string;
    readonly goal?: string;
  };
}

const CONDITION = ["spec", "event", "filter", "condition"];

/** The kind `Trigger`, with the checks of its event block. */
export const trigger: AnyKind = defineKind<TriggerSpec>("Trigger", {
  summary: "Starts a workflow in a workspace when an event arrives and passes its filter.",
  spec: TriggerSchema,
  checks: [
    checkBlocks,
    ({ event }) => checkExpression(event.filter?.condition, CONDITION),
    ({ concurrency }) => checkConcurrency(concurrency),
    checkConversation,
    ({ retention }) => checkRetention(retention),
    ({ report }) => checkReport(report),
    checkBudget,
    checkAnswerable,
    checkAction,
  ],
  references: (spec) => [
    ...EVENTS.filter((event) => event.source === spec.event.source)
      .flatMap((event) => event.references(blockOf(spec, event.source))),
    ...spec.action === undefined ? [] : [
      actionReference("Workflow", spec.action.workflow, ["spec", "action", "workflow"]),
      actionReference("Workspace", spec.action.workspace, ["spec", "action", "workspace"]),
    ],
    ...budgetReferences(spec),
  ],
  expressions: (
    { event: { filter, webhook = {} }, concurrency, conversation, action, report },
  ) => [
    ...expressionAt(filter?.condition, CONDITION),
    ...expressionAt(webhook.idempotencyKey, ["spec", "event", "webhook", "idempotencyKey"]),
    ...expressionAt(webhook.debounce?.key, ["spec", "event", "webhook", "debounce", "key"]),
    ...expressionAt(concurrency?.key, ["spec", "concurrency", "key"]),
    ...expressionAt(conversation?.key, [...CONVERSATION, "key"]),
    ...templateExpressions(conversation?.text, [...CONVERSATION, "text"]),
    ...templateExpressions(action?.goal, ["spec", "action", "goal"]),
    ...reportExpressions(report),
  ],
  machine: (spec) =>
    EVENTS.filter((event) => event.source === spec.event.source)
      .flatMap((event) => event.watched?.(blockOf(spec, event.source)) ?? [])
      .map(({ path, at }) => ({
        needs: "watched",
        workspace: spec.action?.workspace ?? "",
        below: path,
        at,
      })),
  columns: [
    { header: "SOURCE", cell: ({ spec }) => spec.event.source },
    {
      header: "WORKFLOW",
      fit: "name",
      repeats: "NAME",
      cell: ({ spec }) => spec.action?.workflow ?? "",
    },
    {
      header: "WORKSPACE",
      fit: "name",
      secondary: true,
      cell: ({ spec }) => spec.action?.workspace ?? "",
    },
    { header: "SUSPENDED", cell: ({ spec }) => spec.suspend === true ? "yes" : "no" },
    { header: "ENDPOINT", fit: "name", wide: true, cell: (one) => endpointOf(one) ?? "" },
    {
      header: "FILTER",
      fit: "text",
      wide: true,
      cell: ({ spec }) => spec.event.filter?.condition ?? "",
    },
  ],
});

/** When a suspended trigger was suspended; `undefined` if that was before such times were kept. */
export function suspendedSince({ valuesChangedAt = {} }: Resource): number | undefined {
  return valuesChangedAt["suspend"]?.[0];
}

function blockOf(spec: TriggerSpec, source: string): unknown {
  return (spec.event as Record<string, unknown>)[source];
}

function checkBlocks(spec: TriggerSpec): Finding[] {
  // The schema has already refused a missing or unknown source, so no block can be judged.
  if (spec.event.source === undefined) return [];
  return EVENTS.flatMap((event) => {
    const block = blockOf(spec, event.source);
    if (event.source === spec.event.source) return event.check(block);
    if (block === undefined) return [];
    return [errorAt(
      ["spec", "event", event.source],
      `This block is for source "${event.source}", but the source is "${spec.event.source}"`,
    )];
  });
}

function checkAnswerable(spec: TriggerSpec): Finding[] {
  return FORGES.flatMap((forge) => {
    const why = spec.report?.[forge] === undefined ? undefined : whyNeverAnswered(spec, forge);
    if (why === undefined) return [];
    return [warningAt(["spec", "report", forge], `No task is answered: ${why}`)];
  });
}

function checkConcurrency(concurrency: Concurrency | undefined): Finding[] {
  if (concurrency === undefined) return [];
  const at = ["spec", "concurrency"];
  const unused = (concurrency.policy ?? "Allow") === "Allow"
    ? (["key", "max"] as const).find((field) => concurrency[field] !== undefined)
    : undefined;
  return [
    ...(unused === undefined ? [] : [warningAt(
      [...at, unused],
      `"${unused}" has no effect with "policy: Allow", write Forbid, Replace or Queue`,
    )]),
    ...checkExpression(concurrency.key, [...at, "key"]),
  ];
}

/** The fields that say something of tasks, which a trigger without an action does not start. */
const OF_TASKS = ["concurrency", "report", "priority", "budget"] as const;

function checkAction({ action, event: { source }, ...spec }: TriggerSpec): Finding[] {
  if (action !== undefined) {
    return action.goal === undefined
      ? []
      : checkTemplate(action.goal, ["spec", "action", "goal"], GOAL_VARIABLES);
  }
  if (source === "filesystem") {
    return [errorAt(
      ["spec"],
      'A trigger with source "filesystem" needs "action", whose workspace it watches',
    )];
  }
  return OF_TASKS.filter((field) => spec[field] !== undefined).map((field) =>
    errorAt(
      ["spec", field],
      `"${field}" is for the tasks of a trigger: one without "action" starts none`,
    )
  );
}

function actionReference(kind: string, name: string, path: FieldPath): Reference {
  return { kind, name, path, consequence: "its tasks fail until it is applied" };
}
