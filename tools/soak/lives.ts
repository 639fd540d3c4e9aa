/**
 * The lives of a daemon: it is started on a data directory, killed or stopped, and started again.
 * An actor talks to the daemon that runs now, which may end at any moment.
 *
 * @module
 */

import { type Client, connect } from "../../src/api/client.ts";
import { type DataDirectory, startDaemon, type TestDaemon } from "../../tests/helpers/daemon.ts";
import type { Program } from "../../tests/helpers/program.ts";
import type { Journal } from "./journal.ts";
import { type Life, takeSample } from "./memory.ts";

/** Time between two samples of memory and descriptors. */
const SAMPLE_MS = 2000;

/** Lines of the log that the actions of a soak provoke. */
const EXPECTED = [
  /policy/i, // it is broken on purpose
  /plugin/i, // so are plugins
];

/** How a life ends. */
export type Death = "KILL" | "TERM";

/** Facts about all lives, shared by the daemons that share a database. */
export class LifeStory {
  /** Memory and descriptors of each life. */
  readonly lives: Life[] = [];
  /** The end of each life, in milliseconds since the epoch. */
  readonly deaths: { readonly how: Death; readonly at: number }[] = [];
  /** Tasks that ended according to the logs. */
  readonly endedTasks = new Set<unknown>();
}

/** The daemons of a soak, as actors see them. */
export interface Living extends AsyncDisposable {
  readonly story: LifeStory;
  /** Calls operations on a running daemon. */
  readonly client: Client;
  /** The number of ended lives; if it is unchanged, no daemon has ended meanwhile. */
  readonly ended: number;
  /** Resolves to a running daemon, or to the next one when it has started. */
  now(): Promise<TestDaemon>;
  start(): Promise<void>;
  end(how: Death): Promise<void>;
  /** Ends a daemon and starts the next. */
  replace(how: Death): Promise<void>;
}

export interface LivesParts {
  readonly program: Program;
  readonly directory: DataDirectory;
  readonly journal: Journal;
  readonly args: readonly string[];
  readonly story?: LifeStory;
}

/** The lives of a daemon on a data directory, one after the other. */
export class Lives implements Living {
  readonly story: LifeStory;
  readonly client: Client;
  readonly #parts: LivesParts;
  #daemon: TestDaemon | undefined;
  #born = Promise.withResolvers<TestDaemon>();
  #sampling: ReturnType<typeof setInterval> | undefined;

  constructor(parts: LivesParts) {
    this.#parts = parts;
    this.story = parts.story ?? new LifeStory();
    const socket = `${parts.directory.path}/control-plane/svc.sock`;
    this.client = connect({ socket });
  }

  now(): Promise<TestDaemon> {
    return this.#born.promise;
  }

  get ended(): number {
    return this.story.deaths.length;
  }

  /** Whether the daemon is running. */
  get isAlive(): boolean {
    return this.#daemon !== undefined;
  }

  async start(): Promise<void> {
    const { program, directory, args } = this.#parts;
    const daemon = this.#daemon = await startDaemon(program, { directory, args });
    const { lives } = this.story;
    const life: Life = { number: lives.length + 1, samples: [] };
    lives.push(life);
    const sample = () => takeSample(daemon.pid, life);
    sample();
    this.#sampling = setInterval(sample, SAMPLE_MS);
    this.#born.resolve(daemon);
  }

  async end(how: Death): Promise<void> {
    const daemon = this.#daemon;
    if (daemon === undefined) return;
    const { journal } = this.#parts;
    clearInterval(this.#sampling);
    this.#daemon = undefined;
    this.#born = Promise.withResolvers();
    this.story.deaths.push({ how, at: Date.now() });
    journal.count(`daemon: ${how}`);
    if (how === "KILL") await daemon.crash();
    else {
      const code = await daemon.stop();
      if (code !== 0) journal.fault(`SIGTERM: exit code ${code}: ${daemon.log.slice(-2000)}`);
      if (daemon.log.includes("Stopping takes too long")) journal.fault("SIGTERM: took too long");
    }
    await daemon[Symbol.asyncDispose]().catch((error) => journal.fault(String(error)));
    this.#readLog(daemon.log);
  }

  async replace(how: Death): Promise<void> {
    await this.end(how);
    await this.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#sampling);
    this.client[Symbol.dispose]();
    await this.#daemon?.[Symbol.asyncDispose]();
  }

  /** Every error in the log is a fault unless the soak provoked it; and a task ends only once. */
  #readLog(log: string): void {
    const { journal } = this.#parts;
    for (const line of log.split("\n")) {
      if (!line.startsWith("{")) continue;
      const { level, message, task } = parse(line);
      if (message === "task ended") {
        if (this.story.endedTasks.has(task)) journal.fault(`task ${task} ended twice`);
        this.story.endedTasks.add(task);
      }
      if (level !== "error" || EXPECTED.some((one) => one.test(line))) continue;
      journal.fault(`the log of the daemon: ${line.slice(0, 600)}`);
    }
  }
}

/** Parses a line of the log; the last line of a killed daemon may be cut. */
function parse(line: string): Record<string, unknown> {
  try {
    return JSON.parse(line);
  } catch {
    return {};
  }
}
