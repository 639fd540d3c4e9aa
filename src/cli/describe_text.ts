/**
 * `svc describe` for people: the fields of a resource or record, its users, its faults, its newest
 * records, and the next commands.
 *
 * @module
 */

import { keyUseText } from "../api/key_use.ts";
import type { Listing } from "../api/resource_operations.ts";
import { shortDuration } from "../base/duration.ts";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { DEFAULT_PROJECT } from "../resources/resource.ts";
import { ago, inner, type Line, lines, part, section, text, texts } from "./described_parts.ts";
import { formatTable } from "./table.ts";
import { printable } from "./terminal_text.ts";

/** The facts from which the text about a resource or record is made. */
export interface Facts {
  /** The thing as `describe` answers it: a resource, or a record. */
  readonly view: JsonObject;
  /** Address of the webhook server; `undefined` where it is off or may not be known. */
  readonly webhookUrl?: string | undefined;
  /** Its newest deliveries, newest first. */
  readonly deliveries?: Listing | undefined;
  /** Its newest tasks, newest first. */
  readonly tasks?: Listing | undefined;
  /** The SecretStore of a trigger as `describe` answers it. */
  readonly secrets?: JsonObject | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Columns of the terminal; `undefined` where nothing is to be cut. */
  readonly columns: number | undefined;
  /** Writes a value as YAML. */
  readonly toYaml: (value: unknown) => string;
}

/** Rows of one list that are shown. */
const SHOWN = 5;

/** A resource as text. */
export async function describeResource(facts: Facts): Promise<string> {
  const { view } = facts;
  const [metadata, spec, status] = [
    part(view, "metadata"),
    part(view, "spec"),
    part(view, "status"),
  ];
  const kind = text(view["kind"]);
  const { suspended_at: suspendedAt } = status;
  const since = suspendedAt === undefined ? "" : ` ${ago(suspendedAt, facts.now)}`;
  const problems = [
    ...(spec["suspend"] === true
      ? [
        `Suspended${since}: deliveries are recorded and start nothing. svc trigger resume ${
          text(metadata["name"])
        }`,
      ]
      : []),
    ...texts(status["missing"]),
    ...texts(status["faults"]),
    ...(typeof status["fault"] === "string" ? [status["fault"]] : []),
  ];
  const usedBy = texts(status["used_by"]);
  const head: Line[] = [
    [kind, text(metadata["name"])],
    ["Project", text(metadata["project"])],
    ["Description", text(metadata["description"])],
    ["Labels", Object.entries(part(metadata, "labels")).map(([k, v]) => `${k}=${v}`).join(", ")],
    ...(kind === "Trigger" ? triggerLines(facts) : []),
    ["No sandbox", outsideText(texts(status["steps_without_sandbox"]))],
    ...(kind === "Agent" ? agentLines(facts) : []),
    ["Running", limitText(status["running"], spec["maxParallel"])],
    ["Used by", kind === "Trigger" ? "" : usedBy.join(", ") || "nothing"],
    ["Readable by", texts(status["readable_by"]).map((one) => `plugins of ${one}`).join(", ")],
    ["Applied", `${ago(status["updated_at"], facts.now)}, generation ${status["generation"]}`],
    ["Problems", problems.join("\n")],
  ];
  return [
    lines(head),
    keyList(status["keys"], facts),
    section("Spec", facts.toYaml(spec)),
    await deliveryTable(facts),
    await listTable("Tasks", facts.tasks, facts),
  ].filter((block) => block !== "").join("\n");
}

/** The steps with `sandbox: none`. */
function outsideText(steps: readonly string[]): string {
  if (steps.length === 0) return "";
  return `${steps.join(", ")}: runs as the user of the daemon (sandbox: none)`;
}

function triggerLines({ view, webhookUrl, secrets, now }: Facts): Line[] {
  const { project, name } = part(view, "metadata");
  const [spec, status] = [part(view, "spec"), part(view, "status")];
  const event = part(spec, "event");
  const webhook = part(event, "webhook");
  const addressOf = (place: unknown) =>
    `${webhookUrl ?? ""}/webhook/${project === DEFAULT_PROJECT ? "" : `${project}/`}${place}`;
  const endpoint = text(webhook["endpoint"]) || name;
  const action = part(spec, "action");
  const isWebhook = event["source"] === "webhook";
  const store = text(part(webhook, "secret")["fromRef"]);
  const header = text(webhook["signatureHeader"]);
  const isSlack = isWebhook &&
    (webhook["scheme"] === "slack" || header.toLowerCase() === "x-slack-signature");
  const how = webhook["allowUnsigned"] === true
    ? "none: anyone may send"
    : [text(webhook["scheme"]) || (store === "" ? "" : "auto"), header, text(webhook["crdRef"])]
      .filter((word) => word !== "").join(", ");
  return [
    ["Source", text(event["source"])],
    ["Address", isWebhook ? text(webhook["publicUrl"]) || addressOf(endpoint) : ""],
    ["Own address", isWebhook && endpoint !== name ? addressOf(name) : ""],
    ["Slack address", isSlack ? `${webhookUrl ?? ""}/source/slack/${project}/${name}` : ""],
    ["Signature", isWebhook ? how || "not configured: every request is refused" : ""],
    ["Secrets", store === "" ? "" : `secretstore/${store}${keysOf(secrets, now)}`],
    ["May start", guardText(part(webhook, "from"), status["platforms"])],
    ["Condition", text(part(event, "filter")["condition"])],
    ["Starts", `workflow/${action["workflow"]} in workspace/${action["workspace"]}`],
    ["Answers", waysText(status["platforms"], "answers")],
    ["Next", nextTimes(status["next_fires"], now)],
  ];
}

function agentLines({ view, now }: Facts): Line[] {
  const [spec, status] = [part(view, "spec"), part(view, "status")];
  const { maxParallel: seats } = spec;
  const waiting = status["waiting"] === 0 ? "" : `; ${status["waiting"]} wait for a turn`;
  const until = text(status["limited_until"]);
  const reason = text(status["limit_reason"]) || "it did not say why";
  const left = until === "" ? "" : shortDuration(Date.parse(until) - now);
  return [
    ["In use", `${status["in_use"]}${seats === undefined ? "" : ` of ${seats}`}${waiting}`],
    ["Limited", until === "" ? "" : `until ${until} (for ${left}): ${reason}`],
  ];
}

/** How many tasks of a Project with a limit run. */
function limitText(running: unknown, max: unknown): string {
  return typeof running === "number" ? `${running} of ${max} tasks (maxParallel)` : "";
}

function nextTimes(times: unknown, now: number): string {
  return texts(times).map((at) => `${at} (in ${shortDuration(Date.parse(at) - now)})`).join("\n");
}

function guardText({ permission, only }: JsonObject, ways: unknown): string {
  if (permission === undefined) return "";
  const when = only === "agents" ? ", where an agent takes part" : "";
  const asked = waysText(ways, "asks");
  const who = `senders with the permission ${permission} at the platform${when}`;
  return asked === "" ? who : `${who}; svc asks ${asked}`;
}

/** A line such as `github, over connection/a` for each way; if there is none, the reason. */
function waysText(ways: unknown, does: string): string {
  const all = Array.isArray(ways) ? ways.filter(isJsonObject) : [];
  return all.filter((way) => way["does"] === does).map(({ platform, over, lack }) =>
    typeof lack === "string"
      ? `${platform}: none: ${lack}`
      : `${platform}, over ${texts(over).join(", ")}`
  ).join("\n");
}

function keysOf(secrets: JsonObject | undefined, now: number): string {
  if (secrets === undefined) return "";
  const keys = Object.entries(part(part(secrets, "status"), "keys")).map(([key, use]) =>
    `${key} (${useText(use, now)})`
  );
  return `: ${keys.join(", ")}`;
}

function useText(use: unknown, now: number): string {
  const known = isJsonObject(use) ? use : {};
  return keyUseText(Object.assign({ last_matched_at: null }, known), now);
}

/**
 * The keys of a SecretStore, with the facts about each on lines below it, because a table would cut
 * them.
 */
function keyList(keys: unknown, { now }: Facts): string {
  if (!isJsonObject(keys)) return "";
  const blocks = Object.entries(keys).map(([key, use]) => {
    const known = isJsonObject(use) ? use : {};
    const triggers = texts(known["triggers"]).map((trigger) => `trigger/${trigger}`).join(", ");
    const facts = [useText(use, now), text(known["note"])].filter((fact) => fact !== "");
    const head = triggers === "" ? key : `${key}, at ${triggers}`;
    return [head, ...facts.map((fact) => `  ${fact}`)].map((line) => `${printable(line)}\n`).join(
      "",
    );
  });
  return blocks.length === 0 ? "" : section("Keys", blocks.join(""));
}

async function deliveryTable(facts: Facts): Promise<string> {
  const { deliveries } = facts;
  if (deliveries === undefined) return "";
  const counts = new Map<string, number>();
  for (const { outcome } of deliveries.items) {
    counts.set(String(outcome), (counts.get(String(outcome)) ?? 0) + 1);
  }
  const said = [...counts].map(([outcome, n]) => `${n} ${outcome}`).join(", ");
  const title = said === ""
    ? "Deliveries"
    : `Deliveries (last ${deliveries.items.length}: ${said})`;
  return await listTable(title, deliveries, facts);
}

async function listTable(
  title: string,
  listing: Listing | undefined,
  { columns: room }: Facts,
): Promise<string> {
  if (listing === undefined) return "";
  if (listing.rows.length === 0) return section(title, "none yet\n");
  const shown = listing.columns.flatMap(({ header, wide }, at) =>
    wide || header === "TRIGGER" || header === "PROJECT" ? [] : [at]
  );
  const columns = shown.flatMap((at) => listing.columns[at] ?? []);
  const rows = listing.rows.slice(0, SHOWN).map((row) => shown.map((at) => row[at] ?? ""));
  return section(title, await formatTable(columns, rows, inner(room)));
}

/** A delivery as text, with the commands to go on. */
export function describeDelivery({ view, now }: Facts): string {
  const id = text(view["id"]);
  const task = text(view["task_id"]);
  const key = text(view["secret_key"]);
  const next = [
    `svc delivery explain ${id}`,
    `svc delivery show ${id}`,
    `svc delivery redeliver ${id}`,
    ...(task === "" ? [] : [`svc describe task/${task}`]),
  ];
  return [
    lines([
      ["Delivery", id],
      ["Outcome", text(view["outcome"])],
      ["Reason", text(view["reason"])],
      ["Project", text(view["project"])],
      ["Trigger", text(view["trigger"])],
      ["Source", text(view["source"])],
      ["Event", text(view["event"])],
      ["Sender", text(view["remote"])],
      ["Answer", typeof view["status"] === "number" ? `HTTP ${view["status"]}` : ""],
      ["Key", key === "" ? "" : `${key} of secretstore/${text(view["secret_store"])}`],
      ["Task", task],
      ["Redelivery of", text(view["redelivery_of"])],
      [askedWord(view), text(view["by"])],
      ["Received", `${ago(view["received_at"], now)}, ${view["body_bytes"]} bytes`],
      ["Headers", headersText(view)],
    ]),
    section("Next", next.map((line) => `${line}\n`).join("")),
  ].join("\n");
}

/** What somebody had svc do with a delivery. */
function askedWord(view: Readonly<Record<string, unknown>>): string {
  if (text(view["redelivery_of"]) !== "") return "Redelivered by";
  return text(view["source"]) === "manual" ? "Fired by" : "Sent by";
}

/** The names of the headers of a request, and the number of those that are not listed. */
function headersText(
  { header_names: names, headers_left_off: more }: Readonly<Record<string, unknown>>,
): string {
  const shown = texts(names).join(", ");
  return typeof more === "number" ? `${shown} and ${more} more` : shown;
}
