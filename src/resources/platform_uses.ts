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
  /** What happens without it: a sentence without a capital and a full stop. */
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
      consequence: "tasks fail, because svc cannot ask who may start them",
    });
  }
  if (report?.github !== undefined && whyNeverAnswered(spec) === undefined) {
    uses.push({
      platform: "github",
      does: "answers",
      at: ["spec", "report", "github"],
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
