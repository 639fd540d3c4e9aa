/**
 * The chain over the audit: a link when a row is started and one when it is finished, each with the
 * hash of the row's content and of the link before. What is changed or removed later breaks it.
 * Somebody who can write the whole database can also write a new chain: compare the head with a
 * copy elsewhere.
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

/** What a link is over: the beginning of a row, or its end. */
export type LinkKind = keyof typeof COVERED;

/** What stands in place of links that retention has removed. */
export const CHECKPOINT = "checkpoint";

/** An audit row as it is stored: values by column, a missing one counts as null. */
export type AuditColumns = Readonly<Record<string, unknown>>;

/** A link as it is stored. */
export interface AuditLink {
  /** Place in the chain; the first one is 1, and none is left out. */
  readonly position: number;
  /** The row it is over; empty for a checkpoint. */
  readonly auditId: string;
  /** A {@linkcode LinkKind}, or {@linkcode CHECKPOINT}. */
  readonly link: string;
  /** Its hash, in hexadecimal digits. */
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
  /** Finds a row of the audit. */
  readonly findRow: (id: string) => AuditColumns | undefined;
  /** The id and the result of every row. */
  readonly rows: readonly { readonly id: string; readonly result: string }[];
  /** Position of the last link that was ever added. */
  readonly lastPosition: number;
}

/** What is wrong with an audit, one sentence each; empty when it is as it was written. */
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

/** What retention may know of an audit row. */
export interface RetainedAudit {
  readonly id: string;
  /** When it was started, as RFC 3339 text in UTC, which sorts by time. */
  readonly createdAt: string;
  /** Where it stands. */
  readonly result: string;
}

/**
 * Which of the oldest rows are old enough to go, given oldest first: those from before `before`
 * (RFC 3339 text), and the first `surplus` whatever their age. A row that runs stays, with
 * everything after it.
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

/** What can be removed without breaking the chain. */
export interface Removable {
  /** Rows that go. */
  readonly ids: readonly string[];
  /** The last link that goes; a checkpoint with its position and hash takes its place. */
  readonly last: Pick<AuditLink, "position" | "hash">;
}

/**
 * The longest beginning of the chain that is over rows of `expired` alone and over all of each;
 * `undefined` when there is none. `links` are the first ones of the chain, in order.
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
