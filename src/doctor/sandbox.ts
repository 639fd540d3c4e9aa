/**
 * Whether this machine can make the sandboxes of steps.
 *
 * @module
 */

import { type Check, ok, warning } from "./check.ts";
import type { Scene } from "./place.ts";

export const sandbox: Check<Scene> = {
  name: "sandbox",
  async look({ place }) {
    const { fault, networkFault } = await place.sandboxes.support();
    if (fault !== undefined) {
      return [warning(`no sandbox can be made, ${fault.why}: ${fault.cure}`)];
    }
    if (networkFault === undefined) return [ok("sandboxes can be made")];
    const { why, cure } = networkFault;
    return [warning(`sandboxes whose network has rules cannot be made, ${why}: ${cure}`)];
  },
};
