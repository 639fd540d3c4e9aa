/**
 * The purposes for which a Trigger needs the API of a platform, so that svc can check before the
 * first event whether it can reach that API. Pure.
 *
 * @module
 */

import { FORGES } from "../base/forge_names.ts";
import type { ConnectedPlatform } from "./connection.ts";
import { whyNeverAnswered } from "./report.ts";
import type { FieldPath } from "./resource.ts";
import { forgeOfSender } from "./sender_guard.ts";
import type { TriggerSpec } from "./trigger.ts";

/** One thing for which a trigger needs a platform's API. */
export interface PlatformUse {
  readonly platform: ConnectedPlatform;
  /**
   * `answers`: svc posts answers of its tasks there. `asks`: the platform says which senders may
   * start its tasks.
   */
  readonly does: "answers" | "asks";
  /** The field that needs it. */
  readonly at: FieldPath;
  /** The consequence of its absence: a sentence without a capital and a full stop. */
  readonly consequence: string;
}

/** Everything for which a trigger needs a platform's API. */
export function platformUses(spec: TriggerSpec): readonly PlatformUse[] {
  const { event: { webhook }, report } = spec;
  const uses: PlatformUse[] = [];
  if (webhook?.from !== undefined) {
    uses.push({
      platform: forgeOfSender(webhook),
      does: "asks",
      at: ["spec", "event", "webhook", "from"],
      consequence: "tasks fail, because svc cannot ask who may start them",
    });
  }
  for (const platform of FORGES) {
    if (report?.[platform] === undefined || whyNeverAnswered(spec, platform) !== undefined) {
      continue;
    }
    uses.push({
      platform,
      does: "answers",
      at: ["spec", "report", platform],
      consequence: "no task is answered",
    });
  }
  if ((webhook?.slack?.notify ?? []).length > 0) {
    uses.push({
      platform: "slack",
      does: "answers",
      at: ["spec", "event", "webhook", "slack", "notify"],
      consequence: "svc posts to no thread",
    });
  }
  return uses;
}
