/**
 * The paths of the data directory. No file is created or read here.
 *
 * @module
 */

import { join, resolve } from "node:path";
import { AppError } from "./errors.ts";

/** Absolute paths of all files of the daemon. */
export interface DataDir {
  readonly root: string;
  /** Settings of the daemon. */
  readonly settings: string;
  /** Path of the SQLite database. */
  readonly database: string;
  /** Address of the PostgreSQL database that several daemons share, in place of the SQLite database. */
  readonly databaseUrl: string;
  /** Identity of this daemon among those that share the database. */
  readonly node: string;
  /** Locked by the daemon that runs on this directory. */
  readonly lock: string;
  /** Directory of the control socket. */
  readonly controlPlane: string;
  /** Unix socket of the control plane. */
  readonly socket: string;
  /** Access policy of the control socket. */
  readonly udsPolicy: string;
  readonly pluginPolicy: string;
  /** Key that encrypts secret values at rest. */
  readonly secretKey: string;
  /** Default directory of plugin scripts. */
  readonly scripts: string;
  /** First directory on the PATH of plugins and steps; holds `svc`. */
  readonly bin: string;
  /** Working directories whose Workspace names no other place. */
  readonly workspaces: string;
  /** Git worktrees, one for each task with `isolation: worktree`. */
  readonly worktrees: string;
  /** Copies of workspaces, one for each task with `isolation: copy`. */
  readonly copies: string;
  /** Home directories of sessions with agents, one for each session. */
  readonly sessions: string;
  /** Output of steps, one file for each task. */
  readonly logs: string;
  /** Files that all sandboxes share. */
  readonly sandbox: string;
  /** Where steps in sandboxes could write. */
  readonly written: string;
  /** Unix socket at which steps in sandboxes reach the control plane; it takes run tokens only. */
  readonly stepSocket: string;
  /** Short-lived files of running tasks and plugins. */
  readonly run: string;
  /** Pipes over which `svc` in scripts calls the daemon. */
  readonly calls: string;
}

/** Longest path of a Unix socket on Linux, in bytes, without its terminating zero. */
const MAX_SOCKET_PATH = 107;

/** The places that may name the data directory. */
export interface DataDirSources {
  /** The value of `--data-dir`; `undefined` without that flag. */
  flag?: string | undefined;
  /** Reads an environment variable. */
  env: (name: string) => string | undefined;
}

/**
 * The data directory: `--data-dir`, else `$SVC_DATA_DIR`, else `~/.svc`.
 *
 * @throws {AppError} `usage` when none of the three is known.
 */
export function locateDataDir(sources: DataDirSources): DataDir {
  const root = sources.flag || sources.env("SVC_DATA_DIR") || inHome(sources.env("HOME"));
  if (root === "") {
    throw new AppError("usage", "No data directory: give --data-dir, or set SVC_DATA_DIR or HOME");
  }
  return dataDirAt(root);
}

function inHome(home: string | undefined): string {
  return home ? join(home, ".svc") : "";
}

/** The paths below `path`, made absolute. */
export function dataDirAt(path: string): DataDir {
  const root = resolve(path);
  const under = (...parts: string[]) => join(root, ...parts);
  return {
    root,
    settings: under("daemon.yaml"),
    database: under("svc.db"),
    databaseUrl: under("database.url"),
    node: under("node.json"),
    lock: under("control-plane", "daemon.lock"),
    controlPlane: under("control-plane"),
    socket: under("control-plane", "svc.sock"),
    udsPolicy: under("control-plane", "uds-policy.yaml"),
    pluginPolicy: under("plugin-policy.yaml"),
    secretKey: under("secrets", "secretstore.key"),
    scripts: under("scripts"),
    bin: under("bin"),
    workspaces: under("workspaces"),
    logs: under("logs"),
    worktrees: under("worktrees"),
    copies: under("copies"),
    sessions: under("sessions"),
    sandbox: under("sandbox"),
    written: under("control-plane", "written-places.jsonl"),
    stepSocket: under("control-plane", "run.sock"),
    run: under("run"),
    calls: under("control-plane", "calls"),
  };
}

/**
 * Refuses a directory whose control socket cannot be bound.
 *
 * @throws {AppError} `invalid` when the socket's path is too long for the operating system.
 */
export function checkSocketPath(dir: DataDir): void {
  const length = new TextEncoder().encode(dir.socket).length;
  if (length > MAX_SOCKET_PATH) {
    throw new AppError(
      "invalid",
      `The socket path "${dir.socket}" has ${length} bytes and the limit is ${MAX_SOCKET_PATH}: choose a shorter --data-dir`,
    );
  }
}
