/**
 * The way of a sandbox to the network, where that has rules: the socket that the daemon serves, and the
 * variables that lead programs there.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import type { Core } from "../../base/core.ts";
import { AppError } from "../../base/errors.ts";
import { DialFault, Dialler, type DialOptions } from "../../egress/dial.ts";
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

/** An API of a network, and why a sandbox does not reach it. */
export interface ApiReach {
  /** Scheme, host and port. */
  readonly api: string;
  /** As a sentence without its end; absent if it is reached. */
  readonly fault?: string;
}

/** Connects to each API that a network has a key for, as its sandbox would, and sends nothing. */
export async function* reachApis(
  planned: Pick<PlannedSandbox, "name" | "spec">,
  { clock, signal, dialling = {} }: {
    readonly clock: Clock;
    readonly signal: AbortSignal;
    /** How hosts are dialled: for tests. */
    readonly dialling?: Omit<DialOptions, "allow" | "clock">;
  },
): AsyncGenerator<ApiReach, void, undefined> {
  const rules = parseNetwork(planned.spec.network ?? DEFAULT_NETWORK);
  if (typeof rules === "string") return;
  const dialler = new Dialler({ ...dialling, allow: rules.allow, clock });
  const origins = new Set<string>();
  for (const { origin, secure, ...destination } of rules.inject) {
    if (origins.has(origin) || signal.aborted) continue;
    origins.add(origin);
    try {
      using _connection = await dialler.dial(destination, { secure, signal });
      yield { api: origin };
    } catch (error) {
      if (!(error instanceof DialFault)) throw error;
      const fault = error.kind === "refused"
        ? `${error.message}, an address that ${sandboxName(planned)} does not name`
        : error.message;
      yield { api: origin, fault };
    }
  }
}
