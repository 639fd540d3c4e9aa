/**
 * The pooled shells of a daemon: which lines run in one, how many there are, and when they end.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import { PooledShell } from "./pooled_shell.ts";

/** A shell that has been idle for this time ends. */
const IDLE_MS = 10_000;
/** A shell of this age is not used again, so that nothing outlives its line in the group for longer. */
const MAX_AGE_MS = 60_000;
/** Most shells that are idle at the same time; each holds three descriptors and 2 MB. */
const MAX_IDLE = 32;

/** The shell that a pool needs: it starts programs with `vfork`, and reads its input in blocks. */
const DASH_PATHS = ["/usr/bin/dash", "/bin/dash"];

/** The idle shells of one pool. */
interface Pool {
  usedAt: number;
  readonly idle: { readonly shell: PooledShell; readonly since: number }[];
}

/** What a pool needs of {@linkcode ProcessGroups}. */
export interface ShellPoolOptions {
  readonly clock: Clock;
  readonly setsid: string | undefined;
  /** The id of the process that adopts orphans; empty where its children cannot be read. */
  readonly findReaper: () => Promise<string>;
  /** Ends what is left of the group of a shell that has ended. */
  readonly endLeft: (group: number) => Promise<void>;
}

/** Keeps shells for the lines of one name each: lines that may meet what one of them left behind. */
export class ShellPool implements AsyncDisposable {
  readonly #options: ShellPoolOptions;
  readonly #dash = DASH_PATHS.find(isFile);
  readonly #pools = new Map<string, Pool>();
  readonly #closing = new Set<Promise<void>>();
  #reaper: Promise<string> | string | undefined;
  #idleCount = 0;
  #sweep: Disposable | undefined;
  #isOver = false;

  constructor(options: ShellPoolOptions) {
    this.#options = options;
  }

  /**
   * A shell for a line of the pool `name`. `undefined` where the line needs a shell of its own: the
   * system lacks something, or no line of the pool ran lately, so that a pooled shell would cost more.
   */
  take(name: string): PooledShell | undefined {
    const { setsid, clock } = this.#options;
    if (setsid === undefined || this.#dash === undefined || this.#isOver) return undefined;
    const now = clock.monotonicMs();
    const pool = this.#pools.get(name);
    if (pool === undefined) {
      this.#pools.set(name, { usedAt: now, idle: [] });
      this.#sweep ??= clock.after(IDLE_MS, () => this.#endIdle());
      return undefined;
    }
    pool.usedAt = now;
    const reaper = this.#knownReaper();
    if (reaper === "") return undefined;
    for (let one = pool.idle.pop(); one !== undefined; one = pool.idle.pop()) {
      this.#idleCount--;
      if (!one.shell.isEnded && now - one.shell.bornAt < MAX_AGE_MS) return one.shell;
      this.#close(one.shell);
    }
    try {
      return new PooledShell({ setsid, shell: this.#dash, reaper, bornAt: now });
    } catch {
      return undefined; // the start of a shell for the line alone says why
    }
  }

  /** Takes back a shell that can run another line. */
  put(name: string, shell: PooledShell): void {
    const pool = this.#pools.get(name);
    if (this.#isOver || pool === undefined || this.#idleCount >= MAX_IDLE) {
      return this.#close(shell);
    }
    pool.idle.push({ shell, since: this.#options.clock.monotonicMs() });
    this.#idleCount++;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    this.#sweep?.[Symbol.dispose]();
    for (const { idle } of this.#pools.values()) idle.forEach(({ shell }) => this.#close(shell));
    this.#pools.clear();
    await Promise.all(this.#closing);
  }

  /** Empty, too, as long as it is sought. */
  #knownReaper(): string {
    this.#reaper ??= this.#options.findReaper().catch(() => "").then((found) =>
      this.#reaper = found
    );
    return typeof this.#reaper === "string" ? this.#reaper : "";
  }

  #close(shell: PooledShell): void {
    shell.close();
    const closed = this.#end(shell).catch(() => {}).finally(() => this.#closing.delete(closed));
    this.#closing.add(closed);
  }

  async #end(shell: PooledShell): Promise<void> {
    await shell.ended;
    await this.#options.endLeft(shell.group);
    // What left the group, and hides, may hold the pipes: nobody reads them any more.
    await Promise.all(shell.pumps.map((pump) => pump.finish(0, this.#options.clock)));
  }

  /** Ends the shells that were not needed lately, and forgets the pools that no line used. */
  #endIdle(): void {
    const before = this.#options.clock.monotonicMs() - IDLE_MS;
    for (const [name, pool] of this.#pools) {
      const kept = pool.idle.findIndex(({ since }) => since > before);
      const ended = pool.idle.splice(0, kept === -1 ? pool.idle.length : kept);
      this.#idleCount -= ended.length;
      for (const { shell } of ended) this.#close(shell);
      if (pool.idle.length === 0 && pool.usedAt <= before) this.#pools.delete(name);
    }
    this.#sweep = this.#pools.size === 0
      ? undefined
      : this.#options.clock.after(IDLE_MS, () => this.#endIdle());
  }
}

/** Whether there is a file at `path`, links resolved. */
export function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
