/**
 * Reads the database of a soak directly and read-only, while no daemon writes to it.
 *
 * @module
 */

import { isShared, rowsIn } from "../../tests/helpers/stored_rows.ts";

/** A row of `tasks`. */
export interface TaskRow {
  readonly id: string;
  readonly trigger: string;
  readonly workflow: string;
  readonly state: string;
  readonly reason: string;
  readonly delivery_id: string;
  readonly created_at: number;
  readonly started_at: number | null;
  readonly finished_at: number | null;
  readonly restarts: number;
  readonly parent_id: string | null;
  readonly retry_of: string | null;
  /** The directory of its own; where it has none, `null`. */
  readonly directory: string | null;
  /** The node that ran it last. */
  readonly node: string;
}

/** A row of `deliveries`, with fields from its headers and its detail. */
export interface DeliveryRow {
  readonly id: string;
  readonly trigger: string;
  readonly outcome: string;
  readonly status: number;
  readonly task_id: string;
  readonly received_at: number;
  /** Header `x-soak`. */
  readonly mark: string;
  /** Header `x-github-delivery`. */
  readonly sent_as: string;
  /** Id of the delivery that it repeats; empty if it repeats none. */
  readonly again: string;
}

/** All records that a verdict checks. */
export interface Records {
  readonly tasks: ReadonlyMap<string, TaskRow>;
  readonly deliveries: ReadonlyMap<string, DeliveryRow>;
  readonly steps: readonly { task_id: string; id: string; state: string; attempt: number }[];
  readonly audit: readonly {
    id: string;
    action: string;
    result: string;
    finished_at: string | null;
    plugin_type: string;
  }[];
  readonly sourceEvents: readonly {
    id: string;
    external_event_id: string;
    state: string;
    reason: string;
    task_id: string;
    top_level: number;
  }[];
  readonly resources: readonly { name: string; spec: string }[];
  /** Ids of the tasks whose files a node is still to remove. */
  readonly filesToRemove: ReadonlySet<string>;
  /** The minutes for which the cron trigger fired, as its payloads name them. */
  readonly minutes: readonly string[];
}

/** Reads the database of this data directory. */
export async function readRecords(dataDir: string): Promise<Records> {
  const all = async <Row>(sql: string) => await rowsIn(dataDir, sql) as unknown as Row[];
  const tasks = await all<TaskRow>(
    `SELECT id, "trigger", workflow, state, reason, delivery_id, created_at, started_at,
       finished_at, restarts, parent_id, retry_of, directory, node FROM tasks ORDER BY id`,
  );
  const deliveries = (await all<StoredDelivery>(
    `SELECT id, "trigger", outcome, status, task_id, received_at, headers, detail
     FROM deliveries ORDER BY id`,
  )).map(toDelivery);
  const fired = await all<{ body: Uint8Array | null }>(
    `SELECT body FROM deliveries WHERE "trigger" = 'minutely' AND source = 'cron'`,
  );
  const left = await isShared(dataDir)
    ? await all<{ task_id: string }>("SELECT task_id FROM files_to_remove")
    : [];
  return {
    filesToRemove: new Set(left.map(({ task_id: id }) => id)),
    tasks: new Map(tasks.map((row) => [row.id, row])),
    deliveries: new Map(deliveries.map((row) => [row.id, row])),
    steps: await all("SELECT task_id, id, state, attempt FROM steps"),
    audit: await all(
      "SELECT id, action, result, finished_at, plugin_type FROM plugin_audit ORDER BY id",
    ),
    sourceEvents: await all(
      "SELECT id, external_event_id, state, reason, task_id, top_level FROM source_events",
    ),
    resources: await all("SELECT name, spec FROM resources"),
    minutes: fired.map(({ body }) =>
      String(JSON.parse(new TextDecoder().decode(body ?? new Uint8Array()))["scheduled_at"])
    ),
  };
}

/** A row of `deliveries` as it is stored. */
type StoredDelivery = Omit<DeliveryRow, "mark" | "sent_as" | "again"> & {
  readonly headers: string | null;
  readonly detail: string;
};

function toDelivery({ headers, detail, ...row }: StoredDelivery): DeliveryRow {
  const said = JSON.parse(headers ?? "{}");
  return {
    ...row,
    mark: said["x-soak"] ?? "",
    sent_as: said["x-github-delivery"] ?? "",
    again: JSON.parse(detail)["redeliveryOf"] ?? "",
  };
}
