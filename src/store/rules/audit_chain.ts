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

/** The facts that a chain is compared with once its last link was added. */
export interface ChainEnd {
  /** Id and result of every row. */
  readonly rows: readonly { readonly id: string; readonly result: string }[];
  /** Position of the last link that was ever added. */
  readonly lastPosition: number;
  /** Hash of that link, where it is kept. */
  readonly lastHash?: string;
}

/** Verifies a chain link by link, so that it is never in memory as a whole. */
export class ChainCheck {
  readonly #faults: string[] = [];
  readonly #started = new Set<string>();
  readonly #finished = new Set<string>();
  #before: { readonly hash: string; readonly position: number } | undefined;

  /** Takes the next link, with the row that it covers; `undefined` where there is none. */
  add({ auditId, link, hash, position }: AuditLink, row: AuditColumns | undefined): void {
    const before = this.#before;
    this.#before = { hash, position };
    if (before === undefined && position !== 1 && link !== CHECKPOINT) {
      this.#faults.push(`The first links are missing, the chain begins at ${position}`);
    } else if (before !== undefined && position !== before.position + 1) {
      this.#faults.push(`Links ${before.position + 1} to ${position - 1} are gone`);
    }
    if (link !== "start" && link !== "finish") return;
    (link === "start" ? this.#started : this.#finished).add(auditId);
    if (row === undefined) this.#faults.push(`Row ${auditId} was removed`);
    else if (linkHash(before?.hash ?? "", link, row) !== hash) {
      this.#faults.push(`Row ${auditId} was changed (${link})`);
    }
  }

  /** One sentence for each fault; empty when the audit is as it was written. */
  end({ rows, lastPosition, lastHash }: ChainEnd): readonly string[] {
    const last = this.#before ?? { position: 0, hash: "" };
    if (lastPosition > last.position) {
      this.#faults.push(`The last links are missing, there were ${lastPosition}`);
    } else if (lastPosition < last.position) {
      this.#faults.push(`Links up to ${last.position} were added from outside`);
    } else if (lastHash !== undefined && lastHash !== last.hash) {
      this.#faults.push(`Link ${last.position} was changed`);
    }
    for (const { id, result } of rows) {
      if (!this.#started.has(id)) this.#faults.push(`Row ${id} was added from outside`);
      if (result !== "running" && !this.#finished.has(id)) {
        this.#faults.push(`Row ${id} was finished from outside`);
      }
    }
    return this.#faults;
  }
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
 * text), and the first `surplus` of any age. A row that still runs stays, with everything
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
