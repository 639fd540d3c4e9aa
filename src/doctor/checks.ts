/**
 * REGISTRY of the checks of the machine, in the order in which they are made.
 *
 * @module
 */

import type { Check } from "./check.ts";
import { clock } from "./clock.ts";
import { dataDirectory } from "./data_directory.ts";
import { database } from "./database.ts";
import { descriptors } from "./descriptors.ts";
import { disk } from "./disk.ts";
import { key } from "./key.ts";
import type { Scene } from "./place.ts";
import { git, needs } from "./programs.ts";
import { sandbox } from "./sandbox.ts";
import { system } from "./system.ts";

/** The checks that a daemon makes where it runs, or `svc doctor` in its place. */
export const CHECKS: readonly Check<Scene>[] = [
  dataDirectory,
  disk,
  database,
  key,
  clock,
  descriptors,
  system,
  git,
  needs,
  sandbox,
];
