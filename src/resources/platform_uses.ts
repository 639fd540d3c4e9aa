/**
 * What a Trigger needs a platform's API for, so that svc can be asked, before anything happens, whether
 * there is a way to it. Pure.
 *
 * @module
 */

import type { ConnectedPlatform } from "./connection.ts";
import { whyNeverAnswered } from "./report.ts";
import type { FieldPath } from "./resource.ts";
import type { TriggerSpec } from "./trigger.ts";

/** One thing for which a trigger needs a platform's API. */
export interface PlatformUse {
  readonly platform: ConnectedPlatform;
  /** `answers`: its tasks are answered there. `asks`: the platform says who may start them. */
  readonly does: "answers" | "asks";
  /** The field that wants it. */
  readonly at: FieldPath;
  /** What happens without it, as the beginning of a sentence. */
  readonly consequence: string;
}

/** Everything for which a trigger needs a platform's API. */
export function platformUses(spec: TriggerSpec): readonly PlatformUse[] {
  const { event: { webhook }, report } = spec;
  const uses: PlatformUse[] = [];
  if (webhook?.from !== undefined) {
    uses.push({
      platform: "github",
      does: "asks",
      at: ["spec", "event", "webhook", "from"],
      consequence: "Nobody can be asked who may start its tasks, so each one fails",
    });
  }
  if (report?.github !== undefined && whyNeverAnswered(spec) === undefined) {
    uses.push({
      platform: "github",
      does: "answers",
      at: ["spec", "report", "github"],
      consequence: "Its tasks cannot be answered",
    });
  }
  if ((webhook?.slack?.notify ?? []).length > 0) {
    uses.push({
      platform: "slack",
      does: "answers",
      at: ["spec", "event", "webhook", "slack", "notify"],
      consequence: "Its threads cannot be told",
    });
  }
  return uses;
}
