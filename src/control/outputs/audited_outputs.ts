/**
 * What tasks ask to do at a platform, counted, and in the control audit: what they were refused and by
 * which rule, and what they put into the outbox beyond answers.
 *
 * @module
 */

import { AppError, messageOf } from "../../base/errors.ts";
import { FORGE_WORDS, type ForgeName, ofForge } from "../../base/forge_names.ts";
import type { Log } from "../../base/log.ts";
import { isJsonObject } from "../../base/json.ts";
import { DEFAULT_OUTPUTS, type OutputName } from "../../resources/may.ts";
import type { AuditLog } from "../records/audit_log.ts";
import type { Handlers } from "../server/server.ts";

/** What became of a request. */
export type OutputResult = "queued" | "held" | "refused";

/** Where requests are counted and recorded. */
export interface AuditedOutputsHost extends Pick<AuditLog, "startAudited" | "auditRefusal"> {
  readonly log: Log;
  readonly onOutput: (output: OutputName, result: OutputResult) => void;
}

/** The output of each operation that asks for one. */
export const OUTPUT_OF: Readonly<Record<string, OutputName>> = {
  ...ofForge("github", outputsAt("github")),
  ...ofForge("gitlab", outputsAt("gitlab")),
  "github.check": "check",
};

function outputsAt(forge: ForgeName): Readonly<Record<string, OutputName>> {
  const { pullCommand } = FORGE_WORDS[forge];
  return {
    comment: "comment",
    status: "status",
    react: "react",
    [`${pullCommand}_create`]: "pull",
    [`${pullCommand}_update`]: "pull",
    push: "push",
    issue_create: "issue",
    label: "label",
    review: "review",
  };
}

type Handler = (
  input: { readonly task: string },
  ...more: readonly unknown[]
) => Promise<unknown>;

/** The same handlers; those that ask for an output are counted and recorded. */
export function withAuditedOutputs<Some extends Partial<Handlers>>(
  handlers: Some,
  host: AuditedOutputsHost,
): Some {
  const all = Object.entries(handlers).map(([operation, handler]) => {
    const output = OUTPUT_OF[operation];
    if (output === undefined) return [operation, handler];
    return [operation, audited(handler as Handler, { operation, output }, host)];
  });
  return Object.fromEntries(all) as Some;
}

function audited(
  handler: Handler,
  { operation, output }: { readonly operation: string; readonly output: OutputName },
  host: AuditedOutputsHost,
): Handler {
  return async (input, ...more) => {
    const [caller] = more as Parameters<Handlers["status"]>[1][];
    if (caller === undefined) throw new Error(`${operation} has no caller`);
    let answer: unknown;
    try {
      answer = await handler(input, ...more);
    } catch (error) {
      const code = error instanceof AppError ? error.code : undefined;
      if (code === "refused" || code === "forbidden") host.onOutput(output, "refused");
      // The server records one that is forbidden.
      if (code === "refused") {
        const reason = messageOf(error).slice(0, MAX_REASON);
        await host.auditRefusal(operation, caller, { target: `task/${input.task}`, reason });
      }
      throw error;
    }
    const { state, outbox_id: id } = isJsonObject(answer) ? answer : {};
    const result = state === "held" ? "held" : "queued";
    host.onOutput(output, result);
    if (!DEFAULT_OUTPUTS.includes(output)) {
      const target = `task/${input.task}: outbox/${id}, ${result}`;
      // The message is stored, so the answer stays true whatever becomes of its row.
      await host.startAudited({ operation, targets: [target], caller }).then((end) => end())
        .catch((error) =>
          host.log.error("an output could not be written to the audit", { operation, error })
        );
    }
    return answer;
  };
}

/** Most characters of a reason that a row has: it may name files that a stranger chose. */
const MAX_REASON = 500;
