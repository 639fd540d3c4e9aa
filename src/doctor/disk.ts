/**
 * Room on the disk of the data directory.
 *
 * @module
 */

import { diskFault, findDiskSpace } from "../base/disk_space.ts";
import { sizeText } from "../base/size.ts";
import { type Check, failed, ok, warning } from "./check.ts";
import type { Scene } from "./place.ts";

export const disk: Check<Scene> = {
  name: "disk",
  async look({ place: { dirs: { root } } }) {
    if (await Deno.stat(root).then(() => false, () => true)) return [];
    const space = await findDiskSpace(root);
    if (space === undefined) {
      return [warning(`The free space of ${root} cannot be read: see "df ${root}"`)];
    }
    const fault = diskFault(space, root);
    if (fault !== undefined) {
      return [failed(`${fault}: make room, svc delete removes records`)];
    }
    return [ok(`${sizeText(space.freeBytes)} free of ${sizeText(space.totalBytes)}`)];
  },
};
