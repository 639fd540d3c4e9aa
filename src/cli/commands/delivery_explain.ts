/**
 * `svc delivery explain`.
 *
 * @module
 */

import type { Explanation } from "../../api/delivery_operations.ts";
import { type Command, CONNECTION, defineCommand, DELIVERY, OUTPUT_TEXT_JSON } from "../command.ts";
import { jsonText } from "../json_text.ts";
import { printable } from "../terminal_text.ts";

export const command: Command = defineCommand({
  help: "Shows what happened to a delivery at each stage: which secret key matched, which part " +
    "of the condition was false and the values it saw, and for a rejected signature what " +
    "would make it pass (this needs recordRejected: true on the trigger).",
  arguments: [DELIVERY],
  options: [...CONNECTION, OUTPUT_TEXT_JSON],
  examples: ["svc delivery explain latest", "svc get deliveries --outcome rejected"],
  async run(context) {
    using client = context.client();
    const found = await client.call("delivery.explain", { id: context.argument(0) });
    if (context.options.output === "json") {
      return context.io.out(jsonText(found));
    }
    context.io.out(toLines(found).map((line) => `${printable(line)}\n`).join(""));
  },
});

function toLines(found: Explanation): string[] {
  const { delivery, stages, events, diagnoses, advice } = found;
  return [
    `delivery/${delivery["id"]} to trigger ${delivery["trigger"]}: ${delivery["outcome"]} (${
      delivery["status"] ?? delivery["source"]
    })`,
    `received ${delivery["received_at"]}${
      delivery["remote"] === "" ? "" : ` from ${delivery["remote"]}`
    }, ${delivery["body_bytes"]} bytes${
      delivery["body_deleted_at"] === undefined
        ? ""
        : `; the body was deleted on ${delivery["body_deleted_at"]} by retention`
    }`,
    ...stages.map(({ stage, after_ms }) => `  ${stage} after ${after_ms} ms`),
    `authentication: ${found.authentication}`,
    ...(found.condition === undefined ? [] : [`condition: ${found.condition}`]),
    ...(found.not_evaluated === undefined ? [] : [`  not evaluated: ${found.not_evaluated}`]),
    ...(found.source_event_id === undefined
      ? []
      : [`source event: source-event/${found.source_event_id}`]),
    ...events.flatMap((event, index) => [
      `${events.length === 1 ? "event" : `event ${index + 1}`}: ${event.outcome}` +
      `${event.reason === "" ? "" : `, ${event.reason}`}` +
      `${event.task_id === null ? "" : `, task/${event.task_id}`}`,
      ...event.parts.map((part) =>
        `  ${part.expression} is ${part.value ?? `an error: ${part.error}`}` +
        `${markOf(part, part.expression)}${sawText(part)}`
      ),
    ]),
    ...found.ended_waits.map(({ task_id, step }) => `ended the wait ${step} of task/${task_id}`),
    ...found.missed_waits.map(({ task_id, step, why }) =>
      `does not end the wait ${step} of task/${task_id}: ${why}`
    ),
    ...diagnoses.map(({ message }) => `would pass: ${message}`),
    ...advice.map((line) => `next: ${line}`),
  ];
}

type Part = Explanation["events"][number]["parts"][number];

function markOf({ signed }: Part, field: string): string {
  if (!Object.hasOwn(signed, field)) return "";
  return signed[field] === true ? " (signed)" : " (not signed)";
}

function sawText(part: Part): string {
  const fields = Object.entries(part.saw).map(([name, value]) =>
    `${name} is ${value}${markOf(part, name)}`
  );
  return fields.length === 0 ? "" : `, where ${fields.join(" and ")}`;
}
