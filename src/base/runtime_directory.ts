/**
 * Where files lie that live as long as one run of a task or plugin: payloads, prompts, outputs. Making
 * and removing them on a disk can take as long as the run itself, so they lie in the directory that
 * the system has for such files, mostly in memory: `$RUNTIME_DIRECTORY`, which systemd makes for a
 * service, else a user's `$XDG_RUNTIME_DIR`. It is small and may vanish, as when its user logs out. So
 * files beyond a limit, and all that fails there, lie in `run/` of the data directory instead.
 *
 * @module
 */

import { isAbsolute, join } from "node:path";
import { sha256Hex } from "./bytes.ts";
import type { DataDir } from "./data_dir.ts";
import { findDiskSpaceSync } from "./disk_space.ts";
import { AppError } from "./errors.ts";
import { fileFault } from "./file_fault.ts";
import type { Log } from "./log.ts";
import { findOtherWriter } from "./private_files.ts";
import { RuntimeFiles, type SystemPlace } from "./runtime_files.ts";

/** The things that decide on the place. */
export interface RuntimeDirectoryHost {
  readonly dir: Pick<DataDir, "root" | "run">;
  /** Reads an environment variable. */
  readonly env: (name: string) => string | undefined;
  readonly log: Log;
}

/** Largest file that lies in the system's directory. */
const MOST_FILE_BYTES = 256 * 1024;
/** Most bytes that svc itself has there: a container counts them as memory of svc. */
const MOST_BYTES = 32 * 1024 * 1024;
/** Least size by which a file counts: a page, as a step may write to an empty file. */
const LEAST_FILE_BYTES = 4096;
/** Bit of a directory that all users share, such as /tmp. */
const STICKY = 0o1000;

/** Hands out the directories of runs. */
export class RuntimeDirectory implements AsyncDisposable {
  readonly #own: string;
  readonly #system: SystemDirectory | undefined;

  private constructor(own: string, system?: SystemDirectory) {
    this.#own = own;
    this.#system = system;
  }

  /** Chooses the directory; whatever keeps it from using the system's is a warning. */
  static async open({ dir, env, log }: RuntimeDirectoryHost): Promise<RuntimeDirectory> {
    const parent = findParent(env);
    if (parent === undefined) return new RuntimeDirectory(dir.run);
    try {
      const path = join(parent, await nameFor(dir.root));
      await makePrivate(parent, path);
      return new RuntimeDirectory(dir.run, new SystemDirectory(path, log));
    } catch (error) {
      log.warn("files of running tasks lie in the data directory, which is slower", {
        why: `"${parent}" cannot be used: ${fileFault(error)}`,
      });
      return new RuntimeDirectory(dir.run);
    }
  }

  /** Where the files of runs lie, but for those that the system's directory does not take. */
  get path(): string {
    return this.#system?.path ?? this.#own;
  }

  /** The files of a run, in a directory of this name, which is made with the first of them. */
  filesOf(name: string): RuntimeFiles {
    return new RuntimeFiles(name, this.#own, this.#system);
  }

  /** Removes the files of all runs, while there is none: a daemon that was killed has left some. */
  async removeLeft(): Promise<void> {
    await Deno.mkdir(this.#own, { recursive: true, mode: 0o700 });
    await removeAllIn(this.#own);
    const system = this.#system;
    if (system === undefined) return;
    await removeAllIn(system.path).catch((error) => system.onFault(error));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#system === undefined) return;
    await Deno.remove(this.#system.path, { recursive: true }).catch(() => {});
  }
}

/** The directory of this daemon in that of the system, and what svc has in it. */
class SystemDirectory implements SystemPlace {
  readonly path: string;
  readonly #log: Log;
  /** Bytes of all files. */
  #bytes = 0;
  #hasFailed = false;

  constructor(path: string, log: Log) {
    this.path = path;
    this.#log = log;
  }

  /** Leaves others half of a small file system, or as much as svc may take. */
  findRoom(name: string): string | undefined {
    const { freeBytes, totalBytes } = findDiskSpaceSync(this.path) ?? NO_SPACE;
    const hasRoom = totalBytes > 0 && freeBytes >= Math.min(totalBytes / 2, 2 * MOST_BYTES);
    return hasRoom ? join(this.path, name) : undefined;
  }

  take(size: number): number | undefined {
    const bytes = Math.max(size, LEAST_FILE_BYTES);
    if (bytes > MOST_FILE_BYTES || this.#bytes + bytes > MOST_BYTES) return undefined;
    this.#bytes += bytes;
    return bytes;
  }

  giveBack(bytes: number): void {
    this.#bytes -= bytes;
  }

  onFault(error: unknown): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true; // later ones have the same cause, and nothing is lost but time
    this.#log.warn("files of running tasks lie in the data directory for now, which is slower", {
      why: `"${this.path}" cannot be used: ${fileFault(error)}`,
    });
  }
}

const NO_SPACE = { freeBytes: 0, totalBytes: 0 };

function findParent(env: RuntimeDirectoryHost["env"]): string | undefined {
  // systemd separates several by colons.
  const path = env("RUNTIME_DIRECTORY")?.split(":")[0] || env("XDG_RUNTIME_DIR") || "";
  return isAbsolute(path) ? path : undefined;
}

/**
 * The same for each daemon of a data directory, so that the next one removes what a killed one has left,
 * and different for all other data directories, also for one at the same path in another container.
 */
async function nameFor(root: string): Promise<string> {
  const { dev, ino } = await Deno.stat(root);
  return `svc-${sha256Hex(`${dev} ${ino} ${await Deno.realPath(root)}`).slice(0, 16)}`;
}

/**
 * Makes a directory that no other user can enter or exchange.
 *
 * @throws The errors of the runtime; {@linkcode AppError} `refused` where another user could.
 */
async function makePrivate(parent: string, path: string): Promise<void> {
  const { uid, mode } = await Deno.stat(parent);
  const bits = mode ?? 0o777; // no mode on this system: taken as open to all
  const writer = findOtherWriter({ uid, mode: (bits & STICKY) === 0 ? bits : bits & ~0o022 });
  if (writer !== undefined) throw new AppError("refused", `it ${writer}`);
  await Deno.mkdir(path, { mode: 0o700 }).catch((error) => {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  });
  const made = await Deno.lstat(path);
  const isOwn = made.isDirectory && made.uid === Deno.uid() && ((made.mode ?? 0o777) & 0o077) === 0;
  if (!isOwn) {
    throw new AppError("refused", `"${path}" is no private directory of this user: remove it`);
  }
}

async function removeAllIn(directory: string): Promise<void> {
  for await (const { name } of Deno.readDir(directory)) {
    await Deno.remove(join(directory, name), { recursive: true });
  }
}
