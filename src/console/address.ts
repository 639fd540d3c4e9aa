/**
 * The address of one console. An origin outlives the program that served it: its service workers
 * and open tabs stay in the browser, and any user of this machine may have used a port before. So
 * each console is at a new origin, which no program had before and none will have again.
 *
 * @module
 */

import { toHex } from "../base/bytes.ts";

/** The address of one console. */
export interface ConsoleAddress {
  /** The host of its links. */
  readonly host: string;
  /**
   * Every address to which `host` can lead a browser; the console listens at all of them, so that
   * no other program can.
   */
  readonly listensOn: readonly [string, ...string[]];
}

/**
 * A new address: one of the 16 million of 127.0.0.0/8 if the machine of the browser has them all;
 * no resolver is asked for it. A Mac has 127.0.0.1 only, and WSL passes nothing else to Windows:
 * there it is a name of 128 random bits below `localhost`, which Chromium and Firefox resolve to
 * loopback by themselves, to `[::1]` first.
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

/** Without IPv6, no program can listen at `::1`. */
function isLoopback6(address: string): boolean {
  return address === "::1";
}
