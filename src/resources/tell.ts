/**
 * Where an approval is told of beside the console and `svc get approvals`: the field `tell`.
 *
 * @module
 */

import Type from "typebox";
import type { Reference } from "./kind.ts";
import type { FieldPath } from "./resource.ts";
import { SlackChannel } from "./slack_channel.ts";

/** The thread that the event of the task came from. */
export const THREAD = "thread";

/** One entry of `tell`. */
export type Tell = typeof THREAD | { readonly slack: Type.Static<typeof SlackChannel> };

/** No union, as with `network`: an error has to name the field that is wrong. */
const TellEntry = Type.Unsafe<Tell>({
  ...Type.Object({ slack: SlackChannel }, { additionalProperties: false }),
  type: ["string", "object"],
  pattern: `^${THREAD}$`,
  title: "thread, or a mapping such as {slack: {connection: chat, channel: C0123456789}}",
});

/** Schema of the field. */
export const TellField = Type.Array(TellEntry, {
  minItems: 1,
  maxItems: 5,
  uniqueItems: true,
  title: "a list, such as [thread]",
});

/** The Connections that a step needs to tell of its approval. */
export function tellReferences(tell: readonly Tell[] = [], at: FieldPath): Reference[] {
  return tell.flatMap((where, index) =>
    where === THREAD ? [] : [{
      kind: "Connection",
      name: where.slack.connection,
      path: [...at, index, "slack", "connection"],
      consequence: "nobody is asked there",
    }]
  );
}
