/**
 * What the commands about pulls share.
 *
 * @module
 */

import type { ForgeWords } from "../base/forge_names.ts";
import type { OptionDefinition } from "./option.ts";

/** The option that names a pull. */
export const pullKey = ({ pull }: ForgeWords) =>
  ({
    flags: "--key <key>",
    help: `name of the ${pull} (default: the name of the trigger)`,
  }) as const satisfies OptionDefinition;

/** What the id tells under which the daemon keeps a pull: `NUMBER SHA URL`. */
export function pullIds(
  externalId: string | null,
): { readonly number: number | null; readonly url: string | null } {
  const [number = "", , url = null] = (externalId ?? "").split(" ");
  return { number: /^[0-9]+$/.test(number) ? Number(number) : null, url };
}

/** What is printed once a pull is sent. */
export function pullSent(
  { repository }: { readonly repository: string },
  externalId: string | null,
  { pullSign }: ForgeWords,
): string {
  const { number, url } = pullIds(externalId);
  return `sent as ${url ?? `${repository}${pullSign}${number ?? "?"}`}`;
}
