/**
 * The audit as it is written: what comes while a commit is in progress shares the next one. Links of
 * one chain follow each other: written alone, each would wait for the commit of the link before, and
 * keep a connection meanwhile.
 *
 * @module
 */

import type { AuditEnd } from "../audit_records.ts";
import type { AuditRecorder } from "../audit_store.ts";
import { type AuditWrites, writeAudit } from "./audit/audit_rows.ts";
import type { Connections } from "./database/connections.ts";
import { Batcher, byHalves } from "./batcher.ts";

/** Names of the methods that write it. */
export type AuditMethod = keyof AuditRecorder;

/** Writes the audit over `connections`. */
export class AuditBatcher implements AuditRecorder, AsyncDisposable {
  readonly #batcher: Batcher<AuditWrites>;

  constructor(connections: Connections) {
    this.#batcher = new Batcher(byHalves(async (writes) => {
      await connections.transaction((db) => writeAudit(db, together(writes)));
      return writes.map(() => ({ value: undefined }));
    }));
  }

  readonly startAudit: AuditRecorder["startAudit"] = (start) =>
    this.#write({ rows: [{ start }], ends: new Map() });

  readonly finishAudit: AuditRecorder["finishAudit"] = (id, end) =>
    this.#write({ rows: [], ends: new Map([[id, end]]) });

  readonly recordAudit: AuditRecorder["recordAudit"] = async (rows) => {
    if (rows.length > 0) await this.#write({ rows, ends: new Map() });
  };

  async #write(writes: AuditWrites): Promise<void> {
    await this.#batcher.call(writes);
  }

  /** Waits for what is being written. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#batcher.idle();
  }
}

/** Of two ends of one row, the first counts. */
function together(writes: readonly AuditWrites[]): AuditWrites {
  const ends = new Map<string, AuditEnd>();
  for (const [id, end] of writes.flatMap((one) => [...one.ends])) {
    if (!ends.has(id)) ends.set(id, end);
  }
  return { rows: writes.flatMap(({ rows }) => rows), ends };
}
