/**
 * Which events of a daemon the others hear of, and what stands for all of them.
 *
 * @module
 */

import { RECORD_NAMES, type RecordName } from "../../../resources/record_names.ts";
import type { DaemonEvents, Events } from "../../events.ts";

/** Names of the events. All others are about what happens inside of one daemon. */
export const HINTED = [
  "recordsChanged",
  "tasksStored",
  "taskEndsStored",
  "childrenAwaited",
  "sourceEventsStored",
  "messagesStored",
  "resourcesStored",
  "taskStopping",
  "inboxFilled",
  "logWritten",
] as const satisfies readonly (keyof DaemonEvents)[];
/** One of {@linkcode HINTED}. */
export type HintedName = typeof HINTED[number];

/** An event with its data. */
export type Hint = {
  readonly [Name in HintedName]: readonly [Name, DaemonEvents[Name]];
}[HintedName];

/** Whether other daemons act on it, and do not only show it. */
export const isUrgent = ([name, data]: Hint): boolean =>
  name === "recordsChanged" ? data.record === "wait" : name !== "logWritten";

/** What wakes those that take up work: another daemon may have left some. */
export const WAKING: readonly Hint[] = [
  ["tasksStored", { replaced: [] }],
  ["taskEndsStored", undefined],
  ["sourceEventsStored", undefined],
  ["messagesStored", undefined],
];

/** Anything may have happened. */
export const ANYTHING: readonly Hint[] = [
  ...WAKING,
  ...(Object.keys(RECORD_NAMES) as RecordName[]).map((record) =>
    ["recordsChanged", { record }] as const
  ),
  ["childrenAwaited", undefined],
  ["resourcesStored", undefined],
  ["taskStopping", {}],
  ["inboxFilled", {}],
  ["logWritten", {}],
];

/** Publishes them on a hub. */
export function publish(events: Events, hints: readonly Hint[]): void {
  for (const [name, data] of hints) events.publish<HintedName>(name, data);
}
