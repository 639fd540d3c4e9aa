/**
 * The ways to log in of a file, and what each of them asks of the address at which the console listens.
 *
 * @module
 */

import type { WallClock } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import type { ListenOn } from "../../http/server/deno_server.ts";
import { gitHubWay, oidcWay } from "./by_provider.ts";
import { assertionWay, headerWay } from "./by_proxy.ts";
import type { WayValues } from "./login_file.ts";
import type { ProviderFetch } from "./provider_fetch.ts";
import type { LoginWay } from "./ways.ts";

/** Where a console listens, and how its ways reach providers. */
export interface WaysHost {
  readonly ask: ProviderFetch;
  readonly clock: WallClock;
  readonly origin: string;
  readonly on: ListenOn;
}

/**
 * The ways to log in.
 *
 * @throws {AppError} `usage` for a way that is not safe where the console listens.
 */
export function makeWays(values: readonly WayValues[], host: WaysHost): readonly LoginWay[] {
  return values.map(({ name, assertion, header, oidc, github }) => {
    const provider = { ...host, callback: `${host.origin}/login/${name}/callback` };
    if (assertion !== undefined) return assertionWay(name, assertion, host.ask);
    if (oidc !== undefined) return oidcWay(name, oidc, provider);
    if (github !== undefined) return gitHubWay(name, github, provider);
    if (header === undefined) throw new AppError("usage", `The login "${name}" has no method`);
    if (!("path" in host.on)) {
      if (host.on.hostname !== "127.0.0.1") {
        throw new AppError(
          "usage",
          `The login "${name}" believes a header: with it, --bind takes unix:PATH or 127.0.0.1:PORT`,
        );
      }
      if (header.secret === undefined) {
        throw new AppError(
          "usage",
          `The login "${name}" believes a header, which every user of this machine can send to ` +
            "127.0.0.1: add secretHeader and secretFile to it, or use --bind unix:PATH",
        );
      }
    }
    return headerWay(name, header);
  });
}
