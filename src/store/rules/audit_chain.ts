/**
 * The hash chain over the audit: a link when a row is started and one when it is finished, each
 * with the hash of the row's content and of the link before. A later change or removal breaks the
 * chain. An attacker with write access to the whole database can also write a new chain: compare
 * its head with a copy elsewhere.
 *
 * @module
 */

import { sha256Hex } from "../../base/bytes.ts";

/**
 * Columns that each link covers, in the order in which they are hashed: stored hashes depend on it.
 * A column that is added later is not covered.
 */
const COVERED = {
  start: [
    "id",
    "created_at",
    "action",
    "crd_kind",
    "plugin_name",
    "command",
    "plugin_type",
    "phase",
    "trigger",
    "delivery_id",
    "role",
    "policy_mode",
  ],
  finish: ["id", "finished_at", "result", "exit_code", "duration_ms", "stderr"],
} as const;

/** Which part of a row a link covers: its start, or its end. */
export type LinkKind = keyof typeof COVERED;

/** Stands in place of links that retention has removed. */
export const CHECKPOINT = "checkpoint";

/** An audit row as it is stored: values by column, where a missing value counts as null. */
export type AuditColumns = Readonly<Record<string, unknown>>;

/** A link as it is stored. */
export interface AuditLink {
  /** Position in the chain, from 1 and without gaps. */
  readonly position: number;
  /** Row that the link covers; empty for a checkpoint. */
  readonly auditId: string;
  /** A {@linkcode LinkKind}, or {@linkcode CHECKPOINT}. */
  readonly link: string;
  /** In hexadecimal digits. */
  readonly hash: string;
}

/** The hash of a link over a row; `before` is the hash of the link before, empty for the first. */
export function linkHash(before: string, link: LinkKind, row: AuditColumns): string {
  return sha256Hex(
    JSON.stringify([before, link, ...COVERED[link].map((column) => row[column] ?? null)]),
  );
}

/** A whole audit, to be verified. */
export interface StoredAudit {
  /** Every link, in order. */
  readonly links: Iterable<AuditLink>;
  readonly findRow: (id: string) => AuditColumns | undefined;
  /** Id and result of every row. */
  readonly rows: readonly { readonly id: string; readonly result: string }[];
  /** Position of the last link that was ever added. */
  readonly lastPosition: number;
}

/** One sentence for each fault of an audit; empty when it is as it was written. */
export function findAuditFaults({ links, findRow, rows, lastPosition }: StoredAudit): string[] {
  const faults: string[] = [];
  let before: { hash: string; position: number } | undefined;
  const finished = new Set<string>();
  const started = new Set<string>();
  for (const { auditId, link, hash, position } of links) {
    if (before === undefined && position !== 1 && link !== CHECKPOINT) {
      faults.push(`The first links are gone, the chain begins at ${position}`);
    } else if (before !== undefined && position !== before.position + 1) {
      faults.push(`Links ${before.position + 1} to ${position - 1} are gone`);
    }
    if (link === "start" || link === "finish") {
      (link === "start" ? started : finished).add(auditId);
      const row = findRow(auditId);
      if (row === undefined) faults.push(`Row ${auditId} was removed`);
      else if (linkHash(before?.hash ?? "", link, row) !== hash) {
        faults.push(`Row ${auditId} was changed (${link})`);
      }
    }
    before = { hash, position };
  }
  if (lastPosition !== (before?.position ?? 0)) {
    faults.push(`The last links are gone, there were ${lastPosition}`);
  }
  for (const { id, result } of rows) {
    if (!started.has(id)) faults.push(`Row ${id} was added from outside`);
    if (result !== "running" && !finished.has(id)) {
      faults.push(`Row ${id} was finished from outside`);
    }
  }
  return faults;
}

/** The facts of an audit row that retention decides by. */
export interface RetainedAudit {
  readonly id: string;
  /** Start as RFC 3339 text in UTC, which sorts by time. */
  readonly createdAt: string;
  readonly result: string;
}

/**
 * Which of the oldest rows may be removed, given oldest first: those from before `before` (RFC 3339
 * text), and the first `surplus` whatever their age. A row that still runs stays, with everything
 * after it.
 */
export function chooseExpired(
  oldest: readonly RetainedAudit[],
  { before, surplus }: { readonly before: string; readonly surplus: number },
): string[] {
  const kept = oldest.findIndex(({ result, createdAt }, index) =>
    result === "running" || (index >= surplus && createdAt >= before)
  );
  return (kept === -1 ? oldest : oldest.slice(0, kept)).map(({ id }) => id);
}

/** A part that can be removed without breaking the chain. */
export interface Removable {
  /** Rows to remove. */
  readonly ids: readonly string[];
  /** The last link to remove; a checkpoint with its position and hash takes its place. */
  readonly last: Pick<AuditLink, "position" | "hash">;
}

/**
 * The longest beginning of the chain that covers only rows of `expired`, and every link of each;
 * `undefined` when there is none. `links` are the first links of the chain, in order.
 */
export function chooseRemovable(
  expired: readonly string[],
  links: Iterable<AuditLink>,
): Removable | undefined {
  const going = new Set(expired);
  const open = new Set<string>();
  const closed: string[] = [];
  let best: Removable | undefined;
  for (const { auditId, link, position, hash } of links) {
    if (link === CHECKPOINT) continue;
    if (!going.has(auditId)) break;
    if (link === "start") open.add(auditId);
    else if (open.delete(auditId)) closed.push(auditId);
    if (open.size === 0 && closed.length > 0) best = { ids: [...closed], last: { position, hash } };
  }
  return best;
}
