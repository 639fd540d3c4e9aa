/**
 * The way out of one sandboxed step: a Unix socket on which the daemon serves the step as its proxy, and
 * as the APIs whose keys the step does not have. It is opened before the step starts and disposed after
 * its end.
 *
 * ```text
 * const rules = parseNetwork(spec.network);            // {allow, inject}
 * await using egress = await openEgress({
 *   path, rules, headers: fillHeaders(rules, readSecret), sandbox: 'Sandbox "agents"',
 *   secrets, onRefused: (line) => log.line(line), clock, log,
 * });
 * … start the step with egressEnv(rules), and inside its sandbox
 *   socat TCP-LISTEN:3128,fork,reuseaddr UNIX-CONNECT:PATH …
 * egress.report();
 * ```
 *
 * @module
 */

import { utf8 } from "../base/bytes.ts";
import type { Core } from "../base/core.ts";
import { AppError, messageOf } from "../base/errors.ts";
import type { NetworkRules } from "../resources/network.ts";
import type { KnownSecrets } from "../secrets/known_secrets.ts";
import { closeQuietly } from "./connection.ts";
import { Dialler, type DialOptions } from "./dial.ts";
import type { InjectedHeaders } from "./inside.ts";
import type { Limit } from "./limit.ts";
import { ServedConnection } from "./served_connection.ts";
import { type Reached, Traffic } from "./traffic.ts";

/** Most connections of a step at once; more wait until one of them ends. */
const MAX_CONNECTIONS = 48;
/** Most connections that are accepted in {@linkcode PACE_MS}: a step in a loop does not hold the daemon. */
const MAX_ACCEPTED = 50;
const PACE_MS = 250;
/** Time between two looks for connections that have been quiet for too long. */
const SWEEP_MS = 1000;
/** Time after a failed accept. */
const REST_MS = 50;
/** Longest path of a Unix socket, which the kernel ends with a NUL. */
const MAX_PATH_BYTES = 107;

/** One step's way out. */
export interface EgressOptions extends Core {
  /** Path of the Unix socket, in a directory that is private to the daemon. Nothing is there yet. */
  readonly path: string;
  readonly rules: NetworkRules;
  /** The headers of each injection, with their secrets: `fillHeaders` of `inside.ts`. */
  readonly headers: readonly InjectedHeaders[];
  /** The sandbox as messages name it: `Sandbox "agents"`, `the sandbox of step "fix"`. */
  readonly sandbox: string;
  readonly secrets: Pick<KnownSecrets, "redact">;
  /**
   * Gets a line for the task's log when a host is refused or cannot be reached: once for each, and at
   * most some fifty in all.
   */
  readonly onRefused: (line: string) => void;
  /** Is told each answer of an injection, with the limit that it says is reached. */
  readonly onAnswer?: (limit: Limit | undefined) => void;
  /** How hosts are dialled: for tests. */
  readonly dialling?: Omit<DialOptions, "allow" | "clock">;
}

/** An open way out. Disposing it closes every connection and removes the socket. */
export interface Egress extends AsyncDisposable {
  /** What the step has reached so far, and what was refused. */
  report(): readonly Reached[];
}

/**
 * Opens the way out of a step.
 *
 * @throws {AppError} `refused` when there can be no socket at that path.
 */
export async function openEgress(options: EgressOptions): Promise<Egress> {
  const { path, rules, headers, clock, onRefused, onAnswer = () => {}, dialling = {} } = options;
  const listener = await listen(path);
  const traffic = new Traffic(clock, onRefused, (text) => options.secrets.redact(text));
  const dialler = new Dialler({ ...dialling, allow: rules.allow, clock });
  const server = new Server(listener, (client) =>
    new ServedConnection(client, {
      rules,
      headers,
      traffic,
      dialler,
      onAnswer,
      clock,
      log: options.log,
      sandbox: options.sandbox,
      secrets: options.secrets,
    }), options);
  return {
    report: () => traffic.report(),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function listen(path: string): Promise<Deno.UnixListener> {
  if (utf8(path).length > MAX_PATH_BYTES) {
    const message =
      `The path of a socket has at most ${MAX_PATH_BYTES} bytes, "${path}" has more: ` +
      "use a data directory with a shorter path";
    throw new AppError("refused", message);
  }
  try {
    const listener = Deno.listen({ transport: "unix", path });
    try {
      await Deno.chmod(path, 0o600);
      return listener;
    } catch (error) {
      closeQuietly(listener);
      throw error;
    }
  } catch (cause) {
    throw new AppError("refused", `No socket at "${path}": ${messageOf(cause)}`, { cause });
  }
}

/** Accepts the connections of a step and closes those that are quiet for too long. */
class Server implements AsyncDisposable {
  readonly #listener: Deno.UnixListener;
  readonly #serve: (client: Deno.Conn) => ServedConnection;
  readonly #core: Core;
  readonly #open = new Map<ServedConnection, Promise<void>>();
  readonly #stop = new AbortController();
  readonly #sweeper: Disposable;
  readonly #accepting: Promise<void>;
  #hasRoom = Promise.withResolvers<void>();

  constructor(
    listener: Deno.UnixListener,
    serve: (client: Deno.Conn) => ServedConnection,
    core: Core,
  ) {
    this.#listener = listener;
    this.#serve = serve;
    this.#core = core;
    this.#sweeper = core.clock.every(SWEEP_MS, () => this.#sweep());
    this.#accepting = this.#acceptAll();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.#sweeper[Symbol.dispose]();
    closeQuietly(this.#listener); // removes the socket, too
    this.#hasRoom.resolve();
    await this.#accepting;
    for (const connection of this.#open.keys()) connection.close();
    await Promise.all(this.#open.values());
  }

  async #acceptAll(): Promise<void> {
    const { clock, log } = this.#core;
    const { signal } = this.#stop;
    let since = clock.monotonicMs();
    for (let accepted = 0; !signal.aborted;) {
      if (accepted >= MAX_ACCEPTED) {
        await clock.pause(since + PACE_MS - clock.monotonicMs(), signal);
        accepted = 0;
      }
      if (accepted === 0) since = clock.monotonicMs();
      try {
        const client = await this.#listener.accept();
        accepted++;
        if (signal.aborted) closeQuietly(client);
        else this.#take(client);
      } catch (error) {
        if (signal.aborted) return;
        log.warn("egress cannot accept", { because: messageOf(error) });
        await clock.pause(REST_MS, signal);
      }
      while (this.#open.size >= MAX_CONNECTIONS && !signal.aborted) {
        this.#hasRoom = Promise.withResolvers();
        await this.#hasRoom.promise;
      }
    }
  }

  #take(client: Deno.Conn): void {
    const connection = this.#serve(client);
    this.#open.set(
      connection,
      connection.serve().then(() => {
        this.#open.delete(connection);
        this.#hasRoom.resolve();
      }),
    );
  }

  #sweep(): void {
    const now = this.#core.clock.monotonicMs();
    for (const connection of this.#open.keys()) {
      if (connection.deadline <= now) connection.close();
    }
  }
}
