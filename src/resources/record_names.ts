/**
 * The names of records, for `svc get` and `svc describe`. A record is something that happened; a
 * resource was applied. No kind of resource can have the name of a record.
 *
 * @module
 */

/** The plural of each type of record, by its singular. */
export const RECORD_NAMES = {
  "task": "tasks",
  "delivery": "deliveries",
  "source-event": "source-events",
  "binding": "bindings",
  "conversation": "conversations",
  "outbox": "outbox",
  "audit": "audits",
  "token": "tokens",
  "control-audit": "control-audits",
  "node": "nodes",
  "wait": "waits",
  "approval": "approvals",
} as const;

/** The names of the list of budgets, which svc makes of resources and of what runs have used. */
export const BUDGETS = { singular: "budget", plural: "budgets" } as const;

/** Whether a word names the list of budgets. */
export function isBudgets(word: string): boolean {
  const lower = word.toLowerCase();
  return lower === BUDGETS.singular || lower === BUDGETS.plural;
}

/** A type of record, by its singular. */
export type RecordName = keyof typeof RECORD_NAMES;

/** A type of record with generated ids, which svc finds by a part; nodes, waits and approvals are found by names. */
export type NumberedRecord = Exclude<RecordName, "node" | "wait" | "approval">;

/** The plurals, in the order in which they are listed. */
export const RECORD_PLURALS: readonly string[] = Object.values(RECORD_NAMES);

/** Whether svc finds records of this type by a part of their id. */
export function isNumbered(name: RecordName): name is NumberedRecord {
  return name !== "node" && name !== "wait" && name !== "approval";
}

/** The type of record by its singular or plural, in any case. */
export function findRecordName(word: string): RecordName | undefined {
  const lower = word.toLowerCase();
  const names = Object.keys(RECORD_NAMES) as RecordName[];
  return names.find((name) => name === lower || RECORD_NAMES[name] === lower);
}
