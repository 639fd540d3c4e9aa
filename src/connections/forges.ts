/**
 * The forges, and what a payload of any of them says.
 *
 * @module
 */

import type { ForgeName } from "../base/forge_names.ts";
import { AppError } from "../base/errors.ts";
import { connectedTo, platformOfConnection } from "../resources/connection.ts";
import type { Asker, Forge, ForgeSubject } from "./api/forge.ts";
import type { Connection } from "./find_connection.ts";
import { GITHUB } from "./github/forge.ts";

/** REGISTRY of the forges. */
const ALL: readonly Forge[] = [GITHUB];

/** Each forge by its name. */
export const FORGES_BY_NAME: ReadonlyMap<string, Forge> = new Map(
  ALL.map((forge) => [forge.name, forge]),
);

/**
 * The forge of a name.
 *
 * @throws {AppError} `refused` if this version of svc does not know it.
 */
export function forgeNamed(name: ForgeName): Forge {
  const forge = FORGES_BY_NAME.get(name);
  if (forge !== undefined) return forge;
  throw new AppError("refused", `This version of svc does not know ${name}`);
}

/**
 * The forge to which a Connection is.
 *
 * @throws {AppError} `refused` if it is to no forge.
 */
export function forgeOf({ name, spec }: Connection): Forge {
  const forge = FORGES_BY_NAME.get(platformOfConnection(spec));
  if (forge !== undefined) return forge;
  const message = `Connection "${name}" is to ${connectedTo(spec)}, which has no repositories`;
  throw new AppError("refused", message);
}

/** What the event of a payload is about; `undefined` for a payload of no forge, or of two. */
export function findSubject(payload: unknown): ForgeSubject | undefined {
  return only(ALL.flatMap((forge) => forge.findSubject(payload) ?? []));
}

/** Who caused the event of a payload; `undefined` if it does not say. */
export function findAsker(payload: unknown): Asker | undefined {
  return only(ALL.flatMap((forge) => forge.findAsker(payload) ?? []));
}

/** A payload that two forges can read is of none: what it is about would depend on who reads it. */
function only<Value>(found: readonly Value[]): Value | undefined {
  return found.length === 1 ? found[0] : undefined;
}
