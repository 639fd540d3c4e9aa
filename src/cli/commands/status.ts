/**
 * `svc status`.
 *
 * @module
 */

import { nodesText } from "../../api/node_states.ts";
import { pauseText } from "../../api/pause_text.ts";
import type { Rate, Status } from "../../api/status_operations.ts";
import { shortDuration } from "../../base/duration.ts";
import { sizeText } from "../../base/size.ts";
import { type Command, CONNECTION, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import { jsonText } from "../json_text.ts";
import { printable } from "../terminal_text.ts";

export const command: Command = defineCommand({
  help:
    "Shows whether the daemon runs, where it receives webhooks, which role you have, which settings are not the default, what is paused, how many resources there " +
    "are, what waits, what happened in the last minutes, what is left open, and what does not " +
    "work as it should. Exit 3 when it does not run; with --exit-status 1 when anything is degraded.",
  options: [
    { flags: "--exit-status", help: "exit 1 when anything is degraded" },
    ...CONNECTION,
    OUTPUT_TEXT_JSON,
  ],
  examples: [
    "svc status",
    "svc status --exit-status",
    "svc status -o json | svc tool payload-extract --path webhook_url",
    "svc status -o json | svc tool payload-extract --path queue.oldest_pending_secs",
  ],
  async run(context) {
    using client = context.client();
    const status = await client.call("status", {});
    const exitCode = context.options.exitStatus && status.degraded.length > 0 ? 1 : 0;
    if (context.options.output === "json") {
      context.io.out(jsonText(status));
      return exitCode;
    }
    const lines: readonly (readonly [string, string])[] = [
      ...status.pauses.map((pause, at) => [at === 0 ? "paused" : "", pauseText(pause)] as const),
      ["version", status.version],
      ["webhooks", status.webhook_url ?? "off"],
      ["data", status.data_dir],
      ["you", callerText(status.caller)],
      ...settingLines(status),
      ["uptime", shortDuration(status.uptime_secs * 1000)],
      ...countLines(status),
      ["tasks", queueText(status.queue)],
      ...approvalLines(status.approvals),
      ["outbox", outboxText(status.outbox)],
      ...rateLines("tasks ended", status.rates.tasks),
      ...rateLines("deliveries", status.rates.deliveries),
      ...unknownLines(status.unknown_paths),
      ...nodeLines(status),
      ...sandboxLines(status.sandbox),
      ["database", databaseText(status.database)],
      ...status.warnings.map((warning, at) => [at === 0 ? "warning" : "", warning] as const),
      ["degraded", status.degraded.length === 0 ? "no" : status.degraded[0] ?? ""],
      ...status.degraded.slice(1).map((reason) => ["", reason] as const),
    ];
    const width = Math.max(...lines.map(([name]) => name.length)) + 2;
    context.io.out(
      lines.map(([name, value]) =>
        `${(name === "" ? "" : `${name}:`).padEnd(width)}${printable(value)}\n`
      ).join(""),
    );
    return exitCode;
  },
});

/** The role of the caller, and the token that gives it. */
function callerText({ name, role }: Status["caller"]): string {
  return role === null ? `the run token of a ${name}` : `${role}, by ${name}`;
}

/** The settings that are not the default, each with where it comes from. */
function settingLines({ settings }: Status): (readonly [string, string])[] {
  const changed = Object.entries(settings).filter(([, { source }]) => source !== "default");
  return changed.map(([name, { value, source }], position) => {
    const text = `${name} ${[value].flat().join(", ")}`;
    return [position === 0 ? "settings" : "", `${text} (${SOURCES[source]})`];
  });
}

const SOURCES = { default: "default", file: "daemon.yaml", flag: "flag" };

/** The numbers of resources; tasks have a line of their own. */
function countLines({ counts }: Status): (readonly [string, string])[] {
  return Object.entries(counts).filter(([name]) => !name.startsWith("tasks_"))
    .map(([name, n]) => [name, String(n)] as const);
}

function queueText(
  { pending, queued, delayed, waiting, running, oldest_pending_secs, oldest_low_secs }:
    Status["queue"],
): string {
  const waits = oldest_pending_secs === null
    ? ""
    : `, the oldest for ${shortDuration(oldest_pending_secs * 1000)}`;
  const unready = [[queued, "queued"], [delayed, "delayed"]]
    .filter(([n]) => n !== 0)
    .map(([n, word]) => `${n} ${word}`).join(", ");
  const later = unready === "" ? "" : ` (${unready})`;
  const inMidst = waiting === 0 ? "" : `, ${waiting} waiting`;
  const low = oldest_low_secs === null
    ? ""
    : `; of low priority, the oldest for ${shortDuration(oldest_low_secs * 1000)}`;
  return `${running} running, ${pending} pending${later}${waits}${inMidst}${low}`;
}

/** How many questions wait for people; no line when none does. */
function approvalLines(
  { open, oldest_secs: oldest }: Status["approvals"],
): (readonly [string, string])[] {
  if (open === 0) return [];
  const since = oldest === null ? "" : `, the oldest for ${shortDuration(oldest * 1000)}`;
  const many = open === 1 ? "1 question waits" : `${open} questions wait`;
  return [["approvals", `${many} for people${since}: svc get approvals`]];
}

function outboxText(
  { pending, failed, held, oldest_pending_secs }: Status["outbox"],
): string {
  const waits = oldest_pending_secs === null
    ? ""
    : `, the oldest for ${shortDuration(oldest_pending_secs * 1000)}`;
  const given = failed === 0 ? "" : `; ${failed} failed (svc get outbox --state failed)`;
  const kept = held === 0 ? "" : `; ${held} held (svc get outbox --state held)`;
  return `${pending} pending${waits}${kept}${given}`;
}

/** The latest path for which there is no trigger, and the command that lists the others. */
function unknownLines(paths: Status["unknown_paths"]): (readonly [string, string])[] {
  const latest = paths.find((one) => one.did_you_mean !== null) ?? paths[0];
  if (latest === undefined) return [];
  const { method, path, count, did_you_mean: meant } = latest;
  const hint = meant === null ? "" : `, did you mean ${meant}?`;
  const times = count === 1 ? "once" : `${count} times`;
  const all = paths.length === 1 ? "its sender" : `all ${paths.length} paths`;
  return [
    ["no trigger", `${method} ${path} came ${times}${hint}`],
    ["", `${all}: svc get deliveries --unknown`],
  ];
}

/** `12 accepted, 3 rejected in the last minute`, and below it those of the last five. */
function rateLines(
  name: string,
  rates: Readonly<Record<string, Rate>>,
): (readonly [string, string])[] {
  const within = (window: keyof Rate) =>
    Object.entries(rates).filter(([, rate]) => rate[window] > 0)
      .map(([what, rate]) => `${rate[window]} ${what}`).join(", ");
  const five = within("last_five_minutes");
  if (five === "") return [[name, "none in the last five minutes"]];
  return [
    [name, `${within("last_minute") || "none"} in the last minute`],
    ["", `${five} in the last five`],
  ];
}

/** Whether sandboxes can be made, and what helps if not. */
function sandboxLines(
  { required, fault, network_fault: networkFault }: Status["sandbox"],
): (readonly [string, string])[] {
  const rule = required === "none" ? "" : `, required for ${required}`;
  if (fault !== null) {
    return [["sandbox", `none can be made: ${fault.why}${rule}`], [
      "",
      `to have them: ${fault.cure}`,
    ]];
  }
  if (networkFault === null) return [["sandbox", `works${rule}`]];
  return [
    ["sandbox", `works, but none whose network has rules: ${networkFault.why}${rule}`],
    ["", `to have them: ${networkFault.cure}`],
  ];
}

/** `alpha, beta (gone)`, and below it the lease of the node that answers. */
function nodeLines({ nodes, time }: Status): (readonly [string, string])[] {
  if (nodes === null) return [];
  const { name, lease_until } = nodes;
  const leftMs = Date.parse(lease_until) - Date.parse(time);
  const lease = leftMs > 0 ? `its lease holds for ${shortDuration(leftMs)}` : "its lease is over";
  return [
    ["nodes", nodesText(nodes)],
    ["", `this is ${name}, ${lease}`],
  ];
}

function databaseText(
  { server, bytes, wal_bytes, unused_bytes, disk_free_bytes }: Status["database"],
): string {
  if (server !== null) return `${server}, ${sizeText(bytes)}`;
  const unused = unused_bytes === 0 ? "" : ` (${sizeText(unused_bytes)} unused)`;
  const left = disk_free_bytes === null ? "" : `, ${sizeText(disk_free_bytes)} left on its disk`;
  return `${sizeText(bytes + wal_bytes)}${unused}${left}`;
}
