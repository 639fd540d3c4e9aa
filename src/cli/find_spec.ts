/**
 * Looks for a resource that may not be there.
 *
 * @module
 */

import type { Client } from "../api/client.ts";
import { AppError } from "../base/errors.ts";

/**
 * The spec of a resource, with its secrets masked; `undefined` if there is none.
 *
 * @throws {AppError} what the daemon refuses it with.
 */
export async function findSpec<Spec = unknown>(
  { what, name, project }: {
    readonly what: "agent" | "connection" | "secretstore" | "workspace";
    readonly name: string;
    readonly project?: string;
  },
  client: Client,
): Promise<Spec | undefined> {
  try {
    const input = { what, name, ...(project === undefined ? {} : { project }), reveal: false };
    return (await client.call("describe", input) as { spec: Spec }).spec;
  } catch (error) {
    if (error instanceof AppError && error.code === "not_found") return undefined;
    throw error;
  }
}
