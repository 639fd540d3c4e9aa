/**
 * Several daemons over one database, each with its own lives: an actor talks to any running daemon.
 *
 * @module
 */

import type { Client } from "../../src/api/client.ts";
import { type DataDirectory, joinDatabase, type TestDaemon } from "../../tests/helpers/daemon.ts";
import type { PrivateServer } from "../../tests/helpers/postgres_server.ts";
import type { Program } from "../../tests/helpers/program.ts";
import { type Death, LifeStory, Lives, type LivesParts, type Living } from "./lives.ts";
import type { Random } from "../../tests/helpers/random.ts";

/**
 * Share of ends after which the next daemon starts only when other nodes have taken over the tasks.
 */
const STAYS_AWAY = 0.3;
/** Longer than the lease of the daemons. */
const AWAY_MS = 25_000;

/** Makes the database, and a data directory for each of these nodes. */
export async function joinDirectories(
  program: Program,
  server: PrivateServer,
  nodes: readonly string[],
): Promise<readonly DataDirectory[]> {
  await server.sql((db) => db.exec("CREATE DATABASE svc"));
  const url = `postgres://svc@127.0.0.1:${server.port}/svc`;
  const directories: DataDirectory[] = [];
  for (const node of nodes) {
    const keyFile = directories[0] && `${directories[0].path}/secrets/secretstore.key`;
    const joining = { url, node, keyFile };
    directories.push(await joinDatabase(program, joining));
  }
  return directories;
}

/** The daemons of several data directories. */
export class SeveralLives implements Living {
  readonly story: LifeStory = new LifeStory();
  readonly #all: readonly Lives[];
  readonly #random: Random;

  constructor(
    directories: readonly DataDirectory[],
    parts: Omit<LivesParts, "directory" | "story">,
    random: Random,
  ) {
    this.#all = directories.map((directory) =>
      new Lives({ ...parts, directory, story: this.story })
    );
    this.#random = random;
  }

  get ended(): number {
    return this.story.deaths.length;
  }

  get client(): Client {
    return this.#one().client;
  }

  now(): Promise<TestDaemon> {
    return this.#one().now();
  }

  async start(): Promise<void> {
    for (const lives of this.#all) await lives.start();
  }

  async end(how: Death): Promise<void> {
    for (const lives of this.#all) await lives.end(how);
  }

  async replace(how: Death): Promise<void> {
    const lives = this.#one();
    await lives.end(how);
    if (this.#random.chance(STAYS_AWAY)) {
      await new Promise((resolve) => setTimeout(resolve, AWAY_MS));
    }
    await lives.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const lives of this.#all) await lives[Symbol.asyncDispose]();
  }

  /** A running daemon; if none is running, any. */
  #one(): Lives {
    const living = this.#all.filter(({ isAlive }) => isAlive);
    return this.#random.pick(living.length > 0 ? living : this.#all);
  }
}
