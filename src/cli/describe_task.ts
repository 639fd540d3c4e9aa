/**
 * `svc describe task` for people: how the task stands, its steps, their sandboxes and agents, what they
 * reached, and the next commands.
 *
 * @module
 */

import { agentFacts, agentNames } from "../api/agent_words.ts";
import type { Listing } from "../api/resource_operations.ts";
import { sandboxesOf, type SandboxFact, sandboxFacts } from "../api/sandbox_words.ts";
import type { PlannedStepView } from "../api/task_operations.ts";
import type { WaitLookView } from "../api/wait_operations.ts";
import { shortDuration } from "../base/duration.ts";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { sizeText } from "../base/size.ts";
import {
  ago,
  inner,
  lasted,
  type Line,
  lines,
  part,
  section,
  text,
  toColumn,
} from "./described_parts.ts";
import { formatTable } from "./table.ts";
import { printable } from "./terminal_text.ts";

/** The facts from which the text about a task is made. */
export interface TaskFacts {
  /** The task as `describe` answers it. */
  readonly view: JsonObject;
  /** The messages that answer it, newest first. */
  readonly answers?: Listing | undefined;
  /** The tasks that its steps have started, newest first. */
  readonly children?: Listing | undefined;
  /** Its steps as it runs them; `undefined` where that may not be known. */
  readonly plan?: readonly PlannedStepView[] | undefined;
  /** The events that its steps wait for; `undefined` where none does. */
  readonly waits?: readonly WaitLookView[] | undefined;
  /** By id of a step: why it runs without its default sandbox. */
  readonly bare?: ReadonlyMap<string, string>;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Columns of the terminal; `undefined` where nothing is to be cut. */
  readonly columns: number | undefined;
}

/** A task as text, with the commands to go on. */
export async function describeTask(facts: TaskFacts): Promise<string> {
  const { view, answers, now, columns } = facts;
  const id = text(view["id"]);
  const state = text(view["state"]);
  const delivery = text(view["delivery_id"]);
  const steps = Array.isArray(view["steps"]) ? view["steps"].filter(isJsonObject) : [];
  const repeated = new Set(facts.plan?.flatMap(({ id, within }) => within === undefined ? [] : id));
  const rows = steps.map((step) => [
    `${repeated.has(text(step["id"])) ? "  " : ""}${text(step["id"])}`,
    text(step["state"]),
    ...repeated.size === 0 ? [] : [String(step["round"] ?? "")],
    step["state"] === "skipped" ? "" : String(step["attempt"] ?? ""),
    String(step["exit_code"] ?? ""),
    lasted(step, now),
    text(step["reason"]),
  ]);
  const headers = [
    "STEP",
    "STATE",
    ...repeated.size === 0 ? [] : ["ROUND"],
    "ATTEMPTS",
    "EXIT",
    "DURATION",
    "REASON",
  ];
  const sessions = new Set(steps.flatMap(({ session }) => text(session) || []));
  const open = state === "pending" || state === "running" || state === "waiting";
  const waitsFor = part(view, "waits_for");
  const waits = state === "waiting" && waitsFor["what"] === "time" ? text(waitsFor["step"]) : "";
  const next = [
    `svc task logs ${id}${open ? " -f" : ""}`,
    ...(waits === "" ? [] : [`svc task continue ${id} ${waits} --reason "..."`]),
    ...(open ? [`svc task cancel ${id}`] : []),
    ...(state === "failed" || state === "cancelled" ? [`svc task retry ${id}`] : []),
    ...(delivery === "" ? [] : [`svc delivery explain ${delivery}`]),
    ...[...sessions].map((session) => `svc get tasks --session ${session}`),
  ];
  return [
    lines([
      ["Task", id],
      ["State", state],
      ["Reason", text(view["reason"])],
      ["Project", text(view["project"])],
      ["Trigger", text(view["trigger"])],
      ["Workflow", text(view["workflow"])],
      ["Workspace", text(view["workspace"])],
      ["Directory", text(view["directory"])],
      ["Delivery", delivery],
      ["Retry of", text(view["retry_of"])],
      ["Retried by", text(view["retried_by"])],
      [view["root_id"] === undefined ? "Follows" : "Started by", text(view["parent_id"])],
      ["Conversation", text(view["conversation"])],
      ["Unread", unreadText(view["unread"])],
      ["Answers", answersText(answers)],
      ["Created", ago(view["created_at"], now)],
      ["Duration", lasted(view, now)],
      ["Node", text(view["node"])],
      ["Running", state === "running" ? runningText(steps, view["silent_since"], now) : ""],
    ]),
    section(
      "Steps",
      rows.length === 0
        ? "none has started\n"
        : await formatTable(headers.map(toColumn), rows, inner(columns)),
    ),
    ...waitSections(facts),
    ...await childSections(facts),
    ...await agentSections(steps, facts),
    ...sandboxSections(facts),
    ...await networkSections(steps, columns),
    section("Next", next.map((line) => `${line}\n`).join("")),
  ].join("\n");
}

/** How many messages to it no step has read. */
function unreadText(unread: unknown): string {
  if (typeof unread !== "number") return "";
  return unread === 1 ? "1 message" : `${unread} messages`;
}

/** The events that its steps wait for, and which came near. */
function waitSections({ waits = [], now }: TaskFacts): string[] {
  if (waits.length === 0) return [];
  const blocks = waits.map(({ step, trigger, trigger_deleted: isDeleted, looked, misses }) => {
    if (isDeleted) return `${step}: trigger ${trigger} was deleted, so no event ends this wait\n`;
    const newest = `of the ${looked} newest deliveries of trigger ${trigger}`;
    if (misses.length === 0) return `${step}: none ${newest} came near\n`;
    return `${step}: ${newest}, these came near\n` + lines(misses.map((miss): Line => [
      `  ${miss.delivery_id}`,
      `${ago(miss.received_at, now)}\n${printable(miss.why)}`,
    ]));
  });
  return [section("Waits", blocks.join(""))];
}

/** The tasks that its steps have started. */
async function childSections({ children, now, columns }: TaskFacts): Promise<string[]> {
  const started = ((children?.items ?? []) as readonly JsonObject[])
    .filter((task) => task["root_id"] !== undefined); // its end may have started others
  const rows = started.map((child) => [
    text(child["id"]),
    text(child["workflow"]),
    text(child["state"]),
    lasted(child, now),
    text(child["reason"]),
  ]);
  if (rows.length === 0) return [];
  const headers = ["TASK", "WORKFLOW", "STATE", "DURATION", "REASON"];
  return [section("Children", await formatTable(headers.map(toColumn), rows, inner(columns)))];
}

/** What the agents of steps told of their runs, and how they failed. */
async function agentSections(
  steps: readonly JsonObject[],
  { plan = [], columns }: TaskFacts,
): Promise<string[]> {
  const rows = plan.filter(({ kind }) => kind === "agent").flatMap((planned) => {
    const step = steps.find(({ id }) => id === planned.id);
    if (step === undefined) return [];
    const { agent, tokens, cost } = agentFacts(part(step, "outputs"));
    const [session, failure] = [text(step["session"]), text(step["failure"])];
    return [[planned.id, agent || agentNames(planned), tokens, cost, session, failure]];
  });
  if (rows.length === 0) return [];
  const headers = ["STEP", "AGENT", "TOKENS", "COST", "SESSION", "FAILURE"];
  return [section("Agents", await formatTable(headers.map(toColumn), rows, inner(columns)))];
}

/** What steps may read, write and reach, once for those that have the same; none where none has one. */
function sandboxSections({ plan = [], bare }: TaskFacts): string[] {
  if (plan.flatMap(sandboxesOf).every(({ sandbox }) => sandbox === null)) return [];
  const groups = new Map<string, { ids: string[]; facts: readonly SandboxFact[] }>();
  for (const step of plan) {
    for (const { agent, sandbox } of sandboxesOf(step)) {
      const facts = sandboxFacts(sandbox, bare?.get(step.id));
      const group = groups.get(JSON.stringify(facts)) ?? { ids: [], facts };
      group.ids.push(agent === null ? step.id : `${step.id} (${agent})`);
      groups.set(JSON.stringify(facts), group);
    }
  }
  const blocks = [...groups.values()].map(({ ids, facts: [[, which] = ["", []], ...rules] }) => {
    const below = lines(rules.map(([name, texts]): Line => [`  ${name}`, texts.join("\n")]));
    return `${ids.join(", ")}: ${printable(which.join(" "))}\n${below}`;
  });
  return [section("Sandboxes", blocks.join(""))];
}

/** What steps have reached from their sandboxes, if any has. */
async function networkSections(
  steps: readonly JsonObject[],
  columns: number | undefined,
): Promise<string[]> {
  const rows = steps.flatMap((step) => {
    const hosts = Array.isArray(step["network"]) ? step["network"].filter(isJsonObject) : [];
    return hosts.map((host) => [
      text(step["id"]),
      text(host["host"]),
      String(host["requests"]),
      String(host["refused"]),
      sizeText(Number(host["sent_bytes"])),
      sizeText(Number(host["received_bytes"])),
      [host["tokens_in"], host["tokens_out"]].filter((one) => one !== undefined).join("/"),
    ]);
  });
  if (rows.length === 0) return [];
  const headers = ["STEP", "HOST", "REQUESTS", "REFUSED", "SENT", "RECEIVED", "TOKENS"];
  const shown = headers.map((header) => ({ header, wide: false, ...FITS[header] }));
  return [section("Network", await formatTable(shown, rows, inner(columns)))];
}

/** How cells of the table of hosts are cut where there is no room. */
const FITS: Readonly<Record<string, { readonly fit: "name" }>> = {
  STEP: { fit: "name" },
  HOST: { fit: "name" },
};

/** The steps that run, since when, and for how long they have printed nothing. */
function runningText(steps: readonly JsonObject[], silentSince: unknown, now: number): string {
  const running = steps.filter(({ state }) => state === "running").map((step) =>
    `step ${text(step["id"])} for ${lasted(step, now)}`
  );
  if (running.length === 0) return "";
  const silent = typeof silentSince === "string"
    ? [`silent for ${shortDuration(now - Date.parse(silentSince))}`]
    : [];
  return [...running, ...silent].join(", ");
}

/**
 * The messages that answer a task, a line each; for an unsent one also the reason, and the command
 * that sends it.
 */
function answersText(answers: Listing | undefined): string {
  const items = (answers?.items ?? []) as readonly JsonObject[];
  return items.map(({ id, kind, state, reason }) => {
    const why = text(reason) === "" ? "" : `: ${reason}`;
    if (kind === "unanswered") return `none${why}`;
    const next = { failed: ` (svc outbox retry ${id})`, held: ` (svc outbox show ${id})` };
    return `${kind} ${state}${why}${next[state as keyof typeof next] ?? ""}`;
  }).join("\n");
}
