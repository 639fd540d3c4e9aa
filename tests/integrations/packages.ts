/**
 * REGISTRY of the packages under test: one for each directory of `integrations/`.
 *
 * @module
 */

import { github } from "./github.ts";
import { gitlab } from "./gitlab.ts";
import { line } from "./line.ts";
import type { PackageCase } from "./package_case.ts";
import { slack } from "./slack.ts";

/** Every package. */
export const PACKAGES: readonly PackageCase[] = [github, gitlab, line, slack];
