/**
 * The address of one console. An origin outlives the program that was there: its service workers,
 * its open tabs and what they listen to stay in the browser, and any user of this machine can have
 * been on a port before. So each console is at an origin that nobody can have had, and nobody will
 * have again once there is a ticket to be had at it.
 *
 * @module
 */

import { toHex } from "../base/bytes.ts";

/** Where one console is. */
export interface ConsoleAddress {
  /** What its links name before the port. */
  readonly host: string;
  /** Every address that `host` can lead a browser to; nobody else may listen at any of them. */
  readonly listensOn: readonly [string, ...string[]];
}

/**
 * A new address: one of the 16 million of 127.0.0.0/8 where the machine of the browser has them
 * all, which no resolver is asked for. A Mac has 127.0.0.1 only, and WSL hands nothing else to
 * Windows: there it is a name of 128 random bits, which Chromium and Firefox lead to loopback by
 * themselves, to `[::1]` first.
 */
export function newAddress(env: (name: string) => string | undefined): ConsoleAddress {
  if (Deno.build.os === "linux" && !env("WSL_DISTRO_NAME")) {
    const [a = 0, b = 0, c = 0] = crypto.getRandomValues(new Uint32Array(3));
    // From 127.1.0.1 to 127.254.255.254: systems and people use 127.0.*, and 0 and 255 have meanings.
    const host = `127.${1 + a % 254}.${b % 256}.${1 + c % 254}`;
    return { host, listensOn: [host] };
  }
  const name = toHex(crypto.getRandomValues(new Uint8Array(16)));
  const others = Deno.networkInterfaces().map(({ address }) => address).filter(isLoopback6);
  return { host: `${name}.localhost`, listensOn: ["127.0.0.1", ...others] };
}

/** Where there is no IPv6, nobody else can have this one either. */
function isLoopback6(address: string): boolean {
  return address === "::1";
}
