/**
 * What is used of `pg-boss`: its own types need those of Node, which change the types of the whole
 * program.
 *
 * @module
 */

/** Runs its statements: one with values, or several without. */
export interface Executor {
  executeSql(text: string, values?: readonly unknown[]): Promise<unknown>;
}

/** How to start it. */
export interface BossOptions {
  readonly db: Executor;
  readonly schema: string;
  readonly migrate: boolean;
  readonly schedule: boolean;
  readonly superviseIntervalSeconds: number;
  readonly monitorIntervalSeconds: number;
}

/** Settings of a queue. */
export interface QueueOptions {
  readonly partition?: boolean;
  readonly heartbeatSeconds?: number;
}

/** A job that was fetched. */
export interface Job {
  readonly id: string;
  readonly data: unknown;
}

/** The engine. */
export declare class PgBoss {
  constructor(options: BossOptions);
  on(event: "error", listener: (error: unknown) => void): this;
  start(): Promise<unknown>;
  stop(options: { readonly graceful: boolean }): Promise<void>;
  createQueue(name: string, options: QueueOptions): Promise<void>;
  updateQueue(name: string, options: QueueOptions): Promise<void>;
  readonly fetch: (
    name: string,
    options: {
      readonly batchSize: number;
      readonly db: Executor;
      readonly ignoreGroups?: readonly string[];
    },
  ) => Promise<readonly Job[]>;
  touch(
    name: string,
    ids: readonly string[],
    options: { readonly db: Executor },
  ): Promise<unknown>;
}
