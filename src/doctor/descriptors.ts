/**
 * How many files and sockets the process may have open.
 *
 * @module
 */

import { readDescriptorLimit } from "../shell/descriptor_limit.ts";
import { type Check, failed, ok, warning } from "./check.ts";
import type { Scene } from "./place.ts";

/** Below it, a daemon runs short with its own files and a few tasks. */
const LEAST = 256;
/** Half of it are connections, and a step at work takes about six. */
const ENOUGH = 4096;

export const descriptors: Check<Scene> = {
  name: "descriptors",
  async look() {
    const limit = await readDescriptorLimit();
    const cure = 'raise it (LimitNOFILE= of the unit, "ulimit -n" of a shell); 65536 is plenty';
    const found = `${limit} files and sockets may be open at once`;
    if (limit < LEAST) return [failed(`${found}, too few to run tasks: ${cure}`)];
    if (limit < ENOUGH) return [warning(`${found}, half of them connections: ${cure}`)];
    return [ok(found)];
  },
};
