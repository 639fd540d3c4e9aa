/**
 * Connects to a host that the rules allow: its name is resolved once, its addresses are checked, and a
 * checked address is dialled. The only place from which a step's bytes leave this machine.
 *
 * @module
 */

import { lookup } from "node:dns/promises";
import { canonicalIp, isPublicIp } from "../base/ip_address.ts";
import { withCertificateAdvice } from "../base/certificate_advice.ts";
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
  readonly #waiting: (() => void)[] = [];
  #underWay = 0;

  constructor(options: DialOptions) {
    this.#options = options;
  }

  /**
   * Connects to `destination`, with TLS if it is `secure`, unless `signal` aborts before.
   *
   * @throws {DialFault} when it may not, or cannot.
   */
  async dial(
    destination: Destination,
    { secure, signal }: { readonly secure: boolean; readonly signal: AbortSignal },
  ): Promise<Connection> {
    const { promise: givenUp, reject } = Promise.withResolvers<never>();
    const over = new AbortController();
    let hasBegun = false;
    const giveUp = (why: string) => {
      reject(new DialFault("unreachable", why));
      over.abort();
    };
    using _timer = this.#options.clock.after(DIAL_MS, () => {
      const seconds = DIAL_MS / 1000;
      giveUp(
        hasBegun
          ? `it did not answer within ${seconds} seconds`
          : `${MAX_DIALS} other connections have been tried for ${seconds} seconds`,
      );
    });
    const stop = () => giveUp("nobody waits for it any more");
    signal.addEventListener("abort", stop, { once: true });
    const connecting = this.#inTurn(async () => {
      hasBegun = true;
      return await this.#connect(destination, secure, over.signal);
    });
    connecting.then((made) => over.signal.aborted && made[Symbol.dispose](), () => {});
    try {
      return await Promise.race([connecting, givenUp]);
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  /** Runs `work` when there is a place for it, which it has until it ends. */
  async #inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#underWay < MAX_DIALS) this.#underWay++;
    else await new Promise<void>((begin) => this.#waiting.push(begin));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#underWay--;
      else next(); // takes this place
    }
  }

  async #connect(
    destination: Destination,
    secure: boolean,
    over: AbortSignal,
  ): Promise<Connection> {
    over.throwIfAborted();
    const addresses = await this.#addressesOf(destination);
    let fault: unknown;
    for (const hostname of addresses.slice(0, MAX_TRIED)) {
      over.throwIfAborted();
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
        }, over);
      } catch (error) {
        const why = withCertificateAdvice(messageOf(error));
        throw new DialFault("unreachable", `there is no secure connection: ${why}`);
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
