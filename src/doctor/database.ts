/**
 * The database: whether it is reachable, of a version that this program knows, and sound as far as
 * a quick check shows.
 *
 * @module
 */

import { sizeText } from "../base/size.ts";
import { type Check, failed, ok, warning } from "./check.ts";
import type { Scene } from "./place.ts";

/** Looks at the database. */
export const database: Check<Scene> = {
  name: "database",
  async look(scene, signal) {
    const seen = await scene.database(signal);
    if (seen === undefined) return [];
    if (seen.faults.length > 0) {
      const cure = 'see "svc db check", and docs/upgrade-and-move.md for "svc db restore"';
      return seen.faults.map((fault) => failed(`${seen.database}: ${fault} (${cure})`));
    }
    const found = `${seen.database}, ${sizeText(seen.bytes)}, schema ${seen.schemaVersion}`;
    return [ok(found), ...seen.warnings.map(warning)];
  },
};
