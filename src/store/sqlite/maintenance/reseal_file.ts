/**
 * Replaces the sealed values in a database file that no other process uses.
 *
 * @module
 */

import { AppError } from "../../../base/errors.ts";
import type { Resource } from "../../../resources/resource.ts";
import type { ControlEvent } from "../../audit_records.ts";
import { recordControl } from "../../sql/control_audit.ts";
import { refuseOtherSchema } from "../engine/check_schema.ts";
import { Database } from "../engine/database.ts";
import { migrate } from "../engine/migrations.ts";
import { replaceSealed } from "../resources/resource_rows.ts";

/**
 * Replaces the values of these SecretStores in one transaction, with its row in the audit. Nothing
 * of the old values is left in the file and its log.
 *
 * @throws {AppError} `refused` when the file cannot be used.
 */
export async function resealFile(
  path: string,
  { secretStores, record }: {
    readonly secretStores: readonly Resource[];
    readonly record: ControlEvent;
  },
): Promise<void> {
  using db = new Database(path);
  refuseOtherSchema(db);
  migrate(db);
  await db.transaction(async () => {
    replaceSealed(db, secretStores);
    await recordControl(db, record);
  });
  if (!db.foldLog()) throw new AppError("refused", `"${path}" is used by another program`);
}
