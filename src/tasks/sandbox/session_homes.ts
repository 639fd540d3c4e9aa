/**
 * The home directories of sessions, one for each: what an agent keeps of a conversation is in its home
 * directory, and the next step of the session finds it there. svc reads nothing in one: a step may have
 * left anything.
 *
 * @module
 */

import { dirname, join } from "node:path";
import { namesIn } from "../../base/names_in.ts";
import type { Mount } from "../../shell/sandbox.ts";
import { removeTree } from "../workspace/remove_tree.ts";
import type { ToolHost } from "../workspace/run_tool.ts";

const ID = /^[a-z0-9][a-z0-9-]{0,63}$/;

/** The home directory of one session. */
export interface SessionHome {
  readonly path: string;
  /**
   * Makes it, if it is not there, and makes way in it for the mounts of a sandbox that lie below `home`,
   * where the sandbox has it. No step of the session may run.
   */
  open(inside: { readonly home: string; readonly mounts: readonly Mount[] }): Promise<void>;
}

/** Makes and removes home directories of sessions. */
export class SessionHomes {
  readonly #host: ToolHost;
  readonly #parent: string;

  /** They go below `parent`, each under the id of its session. */
  constructor(host: ToolHost, parent: string) {
    this.#host = host;
    this.#parent = parent;
  }

  /** The home directory of the session with this id, of lower-case letters, digits and `-`. */
  of(id: string): SessionHome {
    const path = this.#pathOf(id);
    return { path, open: ({ home, mounts }) => openHome(path, home, mounts) };
  }

  /** The ids of the sessions that have a home directory here. */
  async ids(): Promise<string[]> {
    return (await Array.fromAsync(namesIn(this.#parent))).filter((name) => ID.test(name));
  }

  /**
   * Removes the home directory of a session, if there is one.
   *
   * @throws {AppError} `invalid` when it cannot be removed or `signal` ended that.
   */
  async remove(id: string, signal?: AbortSignal): Promise<void> {
    await removeTree([this.#pathOf(id)], { signal }, this.#host);
  }

  #pathOf(id: string): string {
    if (!ID.test(id)) throw new Error(`"${id}" is no id of a session`);
    return join(this.#parent, id);
  }
}

async function openHome(path: string, home: string, mounts: readonly Mount[]): Promise<void> {
  await Deno.mkdir(path, { recursive: true, mode: 0o700 });
  await Deno.chmod(path, 0o700);
  for (const mount of mounts) {
    if (!mount.at.startsWith(`${home}/`)) continue;
    const isDirectory = mount.put === "scratch" ||
      (mount.put !== "link" && await isDirectoryAt(mount.from));
    await makeWay(path, mount.at.slice(home.length + 1), isDirectory);
  }
}

/**
 * Moves aside what lies in `root` where bubblewrap is to make the path `inside`: it would follow a link
 * there, and make directories and files of the machine.
 */
async function makeWay(root: string, inside: string, isDirectory: boolean): Promise<void> {
  const names = inside.split("/");
  let path = root;
  for (const [at, name] of names.entries()) {
    path = join(path, name);
    const info = await Deno.lstat(path).catch(() => undefined);
    if (info === undefined) return;
    if (info.isDirectory && (isDirectory || at < names.length - 1)) {
      await Deno.chmod(path, 0o700); // no link: nobody else is here
      continue;
    }
    if (info.isFile && !isDirectory && at === names.length - 1) return;
    return await Deno.rename(path, join(dirname(path), `${name}.${crypto.randomUUID()}`));
  }
}

/** As bubblewrap sees it, which follows links. */
async function isDirectoryAt(path: string): Promise<boolean> {
  return await Deno.stat(path).then((info) => info.isDirectory, () => false);
}
