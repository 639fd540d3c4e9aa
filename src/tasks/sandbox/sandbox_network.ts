/**
 * The way of a sandbox to the network, where that has rules: the socket that the daemon serves, and the
 * variables that lead programs there.
 *
 * @module
 */

import type { Core } from "../../base/core.ts";
import { AppError } from "../../base/errors.ts";
import { type Egress, openEgress } from "../../egress/egress.ts";
import type { Limit as ApiLimit } from "../../egress/limit.ts";
import { egressEnv, fillHeaders } from "../../egress/inside.ts";
import type { Catalog } from "../../resources/catalog.ts";
import { parseNetwork } from "../../resources/network.ts";
import { DEFAULT_NETWORK } from "../../resources/sandbox.ts";
import type { KnownSecrets } from "../../secrets/known_secrets.ts";
import type { PlannedSandbox } from "../plan.ts";
import { readSecret } from "../step/step_env.ts";
import { sandboxName } from "./step_sandbox.ts";

/** Where the ways to the network are opened. */
export interface NetworkHost extends Core {
  readonly catalog: Catalog;
  readonly secrets: KnownSecrets;
}

/** One sandbox. */
export interface NetworkUse {
  /** Path of the socket, at which nothing is yet. */
  readonly path: string;
  /** Project whose secrets are the keys of APIs. */
  readonly project: string;
  /** Takes a line for each host that is refused. */
  readonly onRefused: (line: string) => void;
  /** Is told each answer of an API whose key svc adds, with the limit that it says is reached. */
  readonly onAnswer: (limit: ApiLimit | undefined) => void;
}

/** An open way to the network. */
export interface OpenNetwork {
  readonly path: string;
  readonly served: Egress;
  readonly variables: Readonly<Record<string, string>>;
}

/**
 * Opens the way to the network; `undefined` for a network without rules.
 *
 * @throws {AppError} `invalid` when a secret is missing, or no socket can be made.
 */
export async function openNetwork(
  planned: Pick<PlannedSandbox, "name" | "spec">,
  { path, project, onRefused, onAnswer }: NetworkUse,
  { catalog, secrets, clock, log }: NetworkHost,
): Promise<OpenNetwork | undefined> {
  const rules = parseNetwork(planned.spec.network ?? DEFAULT_NETWORK);
  if (typeof rules === "string") return undefined;
  const served = await openEgress({
    path,
    rules,
    headers: fillHeaders(rules, (from) => readSecret(from, { catalog, project })),
    sandbox: sandboxName(planned),
    secrets,
    onRefused,
    onAnswer,
    clock,
    log,
  }).catch((error) => {
    if (!(error instanceof AppError) || error.code !== "refused") throw error;
    throw new AppError("invalid", `its sandbox cannot be made: ${error.message}`);
  });
  return { path, served, variables: egressEnv(rules) };
}
