/**
 * Connects to a host that the rules allow: its name is resolved once, its addresses are checked, and a
 * checked address is dialled. The only place from which a step's bytes leave this machine.
 *
 * @module
 */

import { lookup } from "node:dns/promises";
import { canonicalIp, isPublicIp } from "../base/ip_address.ts";
import { messageOf } from "../base/errors.ts";
import type { Clock } from "../base/clock.ts";
import type { HostRule } from "../resources/host_rule.ts";
import { closableTls } from "./closable_tls.ts";
import { closeQuietly, type Connection } from "./connection.ts";
import { type Destination, isAllowed, written } from "./route.ts";

/** Longest time to resolve a name and connect to its addresses, and for the handshake of TLS. */
const DIAL_MS = 15_000;
/** Most addresses of one name that are tried. */
const MAX_TRIED = 4;
/** Most dials of a step at once. Deno cannot give up one: it goes on until the system gives up. */
const MAX_DIALS = 24;

/** What was not connected. `refused`: every address of the name is one that the rules do not name. */
export class DialFault extends Error {
  constructor(readonly kind: "refused" | "unreachable", message: string) {
    super(message);
  }
}

/** How hosts are dialled. */
export interface DialOptions {
  readonly allow: readonly HostRule[];
  readonly clock: Clock;
  /** The addresses of a name; those of the system when absent. */
  readonly resolve?: (name: string) => Promise<readonly string[]>;
  /** Addresses of this machine; those of its network interfaces when absent. */
  readonly ownAddresses?: () => readonly string[];
  /** Certificates that are trusted beside those of the system. */
  readonly caCerts?: readonly string[];
}

/** Dials for one step. */
export class Dialler {
  readonly #options: DialOptions;
  #underWay = 0;

  constructor(options: DialOptions) {
    this.#options = options;
  }

  /**
   * Connects to `destination`, with TLS if it is `secure`.
   *
   * @throws {DialFault} when it may not, or cannot.
   */
  async dial(destination: Destination, secure: boolean): Promise<Connection> {
    if (this.#underWay >= MAX_DIALS) {
      throw new DialFault("unreachable", `${MAX_DIALS} connections are being tried already`);
    }
    this.#underWay++;
    const { promise: late, reject } = Promise.withResolvers<never>();
    let isLate = false;
    using _timer = this.#options.clock.after(DIAL_MS, () => {
      isLate = true;
      const seconds = DIAL_MS / 1000;
      reject(new DialFault("unreachable", `it did not answer within ${seconds} seconds`));
    });
    const connecting = this.#connect(destination, secure, () => isLate);
    connecting.catch(() => {}).finally(() => this.#underWay--);
    connecting.then((connection) => isLate && connection[Symbol.dispose](), () => {});
    return await Promise.race([connecting, late]);
  }

  async #connect(
    destination: Destination,
    secure: boolean,
    isLate: () => boolean,
  ): Promise<Connection> {
    const addresses = await this.#addressesOf(destination);
    let fault: unknown;
    for (const hostname of addresses.slice(0, MAX_TRIED)) {
      if (isLate()) break;
      let plain;
      try {
        plain = await Deno.connect({ hostname, port: destination.port });
      } catch (error) {
        fault = error;
        continue;
      }
      plain.setNoDelay(true);
      if (!secure) return closing(plain);
      try {
        return await closableTls(plain, {
          hostname: destination.host,
          caCerts: [...this.#options.caCerts ?? []],
        }, this.#options.clock);
      } catch (error) {
        throw new DialFault("unreachable", `there is no secure connection: ${messageOf(error)}`);
      }
    }
    throw new DialFault("unreachable", explain(fault));
  }

  /** The addresses that may be dialled. */
  async #addressesOf(destination: Destination): Promise<readonly string[]> {
    const { host, isAddress } = destination;
    if (isAddress) return [host]; // a rule names it
    let found: readonly string[];
    try {
      found = await (this.#options.resolve ?? resolveName)(host);
    } catch {
      throw new DialFault("unreachable", "its name is not known (DNS)");
    }
    const usable = found.filter((address) => this.#mayDial(address, destination));
    if (usable.length > 0) return usable;
    const [first] = found;
    if (first === undefined) throw new DialFault("unreachable", "its name is not known (DNS)");
    throw new DialFault("refused", `${written(destination)} is ${first}`);
  }

  /** Whether a name may stand for this address: a public one of another machine, or one that a rule names. */
  #mayDial(address: string, { port }: Destination): boolean {
    const host = canonicalIp(address);
    if (host === undefined) return false;
    if (isAllowed({ host, isAddress: true, port }, this.#options.allow)) return true;
    const own = (this.#options.ownAddresses ?? addressesOfMachine)();
    return isPublicIp(host) && !own.some((one) => canonicalIp(one) === host);
  }
}

async function resolveName(name: string): Promise<string[]> {
  return (await lookup(name, { all: true })).map(({ address }) => address);
}

function addressesOfMachine(): string[] {
  return Deno.networkInterfaces().map(({ address }) => address);
}

function closing(plain: Deno.TcpConn): Connection {
  return {
    read: (into) => plain.read(into),
    write: (bytes) => plain.write(bytes),
    closeWrite: () => plain.closeWrite(),
    [Symbol.dispose]: () => closeQuietly(plain),
  };
}

function explain(fault: unknown): string {
  if (fault instanceof Deno.errors.ConnectionRefused) return "nothing listens there";
  if (fault instanceof Error) return messageOf(fault).slice(0, 200);
  return "it cannot be reached";
}
