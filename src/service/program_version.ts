/**
 * Which version of svc lies at a path: an update replaces the file, and not the daemon that runs.
 *
 * @module
 */

import { isJsonObject, parseJson } from "../base/json.ts";
import type { ServiceHost } from "./host.ts";

/** The version that the program at this path prints; `undefined` if it prints none. */
export async function findProgramVersion(
  host: ServiceHost,
  program: string,
): Promise<string | undefined> {
  const { code, out } = await host.run([program, "version", "-o", "json"]);
  if (code !== 0) return undefined;
  try {
    const said = parseJson(out);
    const version = isJsonObject(said) ? said["version"] : undefined;
    return typeof version === "string" ? version : undefined;
  } catch {
    return undefined; // another program has its name
  }
}
