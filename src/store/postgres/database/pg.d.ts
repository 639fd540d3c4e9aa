/**
 * What is used of `pg`, which brings no types of its own; those of others bring Node's with them,
 * which change the types of the whole program.
 *
 * @module
 */

/** What a statement gives. */
export interface QueryResult {
  readonly rows: readonly Record<string, unknown>[];
  readonly rowCount: number | null;
}

/** A message of `LISTEN`. */
export interface Notification {
  readonly channel: string;
  readonly payload?: string;
  /** The connection that said it. */
  readonly processId: number;
}

/** What a query of its own does with the connection that runs it (`copy.ts`). */
export interface CopyConnection {
  query(sql: string): void;
  endCopyFrom(): void;
  sendCopyFail(reason: string): void;
  readonly stream: {
    write(bytes: Uint8Array, onSent?: () => void): void;
    destroy(error: Error): void;
  };
}

/** A query that answers the messages of the server by itself. */
export interface CopyQuery {
  /** Longest time that it may take, in milliseconds. */
  readonly query_timeout: number;
  /** Called when it has ended: the driver replaces it by what stops its clock. */
  callback(): void;
  submit(connection: CopyConnection): void;
  handleCopyInResponse?(connection: CopyConnection): void;
  handleCopyData?(message: { readonly chunk: Uint8Array }): void;
  handleCommandComplete(): void;
  handleReadyForQuery(): void;
  handleError(error: unknown): void;
}

/** One connection. */
export interface ClientBase {
  /** Number of the server's process, as the other end says when it connects. */
  readonly processID: number | null;
  query(sql: string, values?: readonly unknown[]): Promise<QueryResult>;
  query(query: {
    readonly name?: string;
    readonly text: string;
    readonly values?: readonly unknown[];
    /** In milliseconds, in the place of that of all queries. */
    readonly query_timeout?: number | undefined;
  }): Promise<QueryResult>;
  query(query: CopyQuery): void;
  on(event: "error", listener: (error: Error) => void): void;
  on(event: "end", listener: () => void): void;
  on(event: "notification", listener: (message: Notification) => void): void;
}

/** A connection of a pool. */
export interface PoolClient extends ClientBase {
  /** Gives it back; one that is broken is closed. */
  release(broken?: boolean): void;
}

/** How to trust a server, and be trusted by it; certificates are PEM. */
export interface TlsConfig {
  readonly rejectUnauthorized: boolean;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly checkServerIdentity?: () => undefined;
}

/** What to connect to. */
export interface ServerConfig {
  /** A host, or the directory of a socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  /** Asked when the server wants a password. */
  readonly password: () => Promise<string>;
  readonly ssl: TlsConfig | false;
}

/** How to connect without a pool. */
export interface ClientConfig extends ServerConfig {
  readonly connectionTimeoutMillis: number;
  readonly query_timeout: number;
  readonly keepAlive: boolean;
  readonly application_name: string;
}

/** How to connect. */
export interface PoolConfig extends ServerConfig {
  readonly max: number;
  readonly pipeline: boolean;
  readonly connectionTimeoutMillis: number;
  readonly query_timeout: number;
  readonly idleTimeoutMillis: number;
  readonly keepAlive: boolean;
  readonly application_name: string;
  readonly types: {
    readonly getTypeParser: (
      oid: number,
      format?: "text" | "binary",
    ) => (text: string) => unknown;
  };
}

declare class Pool {
  constructor(config: PoolConfig);
  connect(): Promise<PoolClient>;
  end(): Promise<void>;
  on(event: "error", listener: (error: Error) => void): void;
}

declare class Client implements ClientBase {
  constructor(config: ClientConfig);
  readonly processID: ClientBase["processID"];
  connect(): Promise<void>;
  end(): Promise<void>;
  query: ClientBase["query"];
  on: ClientBase["on"];
}

declare const pg: {
  readonly Client: typeof Client;
  readonly Pool: typeof Pool;
  readonly types: {
    getTypeParser(oid: number, format?: "text" | "binary"): (text: string) => unknown;
  };
};
export default pg;
