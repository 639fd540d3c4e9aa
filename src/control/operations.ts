/**
 * Every operation of the control plane and what carries it out.
 *
 * @module
 */

import type { Status } from "../api/operations.ts";
import type { DataDir } from "../base/data_dir.ts";
import { rfc3339 } from "../base/clock.ts";
import { VERSION } from "../base/version.ts";
import { KINDS } from "../resources/kinds.ts";
import { apply, type ApplyHost } from "./apply.ts";
import { explain, type ExplainHost } from "./explain.ts";
import { describe, get, type QueryHost, remove } from "./queries.ts";
import { findTask } from "./records.ts";
import { redeliver, type RedeliverHost } from "./redeliver.ts";
import { rotateSecret } from "./rotate_secret.ts";
import type { Handlers, StreamHandlers } from "./server.ts";
import { taskLogs } from "./task_logs.ts";
import { createToken, revokeToken } from "./tokens.ts";
import { tryTrigger } from "./try_trigger.ts";
import { taskView } from "./views.ts";

/** What the operations need. */
export interface OperationsHost extends ApplyHost, QueryHost, ExplainHost, RedeliverHost {
  /** Where logs are. */
  readonly dirs: DataDir;
  /** What does not work as it should, one sentence each. */
  readonly degraded: () => Promise<readonly string[]>;
  /** What only the daemon itself knows. */
  readonly status: () => { readonly webhookUrl: string | undefined; readonly started: number };
}

/** The operations, by name. */
export function controlOperations(
  host: OperationsHost,
): { handlers: Handlers; streams: StreamHandlers } {
  return {
    handlers: {
      status: () => status(host),
      apply: (input, caller) => apply(input, caller, host),
      get: (input) => get(input, host),
      describe: (input, caller) => describe(input, caller, host),
      delete: (input, caller) => remove(input, caller, host),
      task: async ({ id }) => taskView(await findTask(id, host.store)),
      "delivery.explain": ({ id }) => explain(id, host),
      "audit.verify": () => host.store.verifyAudit(),
      "token.create": async ({ role, ttl_secs: ttlSecs, name }, caller) => {
        await host.trace("token.create", name, caller);
        const { token, record } = await createToken({ role, ttlSecs, name }, host);
        return { token, id: record.id, role, expires_at: rfc3339(record.expiresAt) };
      },
      "token.revoke": async ({ id }, caller) => {
        await host.trace("token.revoke", id, caller);
        return { id: (await revokeToken(id, host)).id };
      },
      "secret.rotate": (input, caller) => rotateSecret(input, caller, host),
      "trigger.test": (input) => tryTrigger(input, host),
    },
    streams: {
      "task.logs": (input, signal) => taskLogs(input, host, signal),
      "delivery.redeliver": (input, signal) => redeliver(input, host, signal),
    },
  };
}

async function status(host: OperationsHost): Promise<Status> {
  const { webhookUrl, started } = host.status();
  const { pending, running } = await host.store.counts();
  const resources = KINDS.map((kind) =>
    [kind.plural, host.catalog.list(kind.kind).length] as const
  );
  return {
    version: VERSION,
    webhook_url: webhookUrl ?? null,
    data_dir: host.dirs.root,
    pid: Deno.pid,
    uptime_secs: Math.floor((host.clock.now() - started) / 1000),
    counts: { ...Object.fromEntries(resources), tasks_pending: pending, tasks_running: running },
    degraded: await host.degraded(),
  };
}
