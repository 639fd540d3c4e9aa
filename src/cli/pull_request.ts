/**
 * What the commands about pull requests share.
 *
 * @module
 */

import type { OptionDefinition } from "./option.ts";

/** The option that names a pull request. */
export const PULL_KEY = {
  flags: "--key <key>",
  help: "name of the pull request (default: the name of the trigger)",
} as const satisfies OptionDefinition;

/** The number of a pull request, from the id under which the daemon keeps it: `NUMBER SHA`. */
export function numberOf(externalId: string | null): number | null {
  const [, number] = /^([0-9]+)(?: |$)/.exec(externalId ?? "") ?? [];
  return number === undefined ? null : Number(number);
}

/** What is printed once a pull request is sent. */
export function pullSent(
  { repository }: { readonly repository: string },
  externalId: string | null,
): string {
  return `sent as ${repository}#${numberOf(externalId) ?? "?"}`;
}
