/**
 * The symbolic links that a change finds in its repository, as far as they matter to what is protected:
 * those at the top, and those in directories there whose names begin with a dot. Where `.vscode` is a link
 * to `other`, a change of `other` is one of `.vscode`. Pure.
 *
 * @module
 */

import { waysIn } from "./compare_trees.ts";

/** A symbolic link, and where it leads. */
export interface BaseLink {
  readonly path: string;
  /** From the root of the repository, without a slash at its end; empty for the root itself. */
  readonly target: string;
}

/** What finding them reads, each by its id. */
export interface LinkSource {
  readonly readTree: (id: string) => Promise<Uint8Array>;
  readonly readLink: (id: string) => Promise<string>;
}

/** Most directories that are read. */
const MAX_TREES = 1000;
/** Most links at the top through which one link leads. */
const MAX_HOPS = 10;

/**
 * The links of a tree that lead to a place in the repository. Where there are too many directories to look
 * into all of them, one link stands for what was not read: it leads to the root.
 */
export async function findLinks(
  root: string,
  { readTree, readLink }: LinkSource,
): Promise<readonly BaseLink[]> {
  const found: { path: string; to: string }[] = [];
  const open = [{ path: "", id: root }];
  for (let read = 0; open.length > 0; read++) {
    const { path, id } = open.pop() as typeof open[number];
    if (read === MAX_TREES) return [{ path, target: "" }];
    for await (const { name, isLink, id: of } of waysIn(await readTree(id))) {
      const within = path === "" ? name : `${path}/${name}`;
      if (isLink) found.push({ path: within, to: await readLink(of) });
      else if (within.startsWith(".")) open.push({ path: within, id: of });
    }
  }
  const links = new Map(found.map(({ path, to }) => [path, inRepository(path, to)]));
  return [...links.keys()].flatMap((path) => {
    const target = follow(path, links);
    return target === undefined ? [] : [{ path, target }];
  });
}

/** Where a link leads, through other links on the way; `undefined` for nowhere in the repository. */
function follow(path: string, links: ReadonlyMap<string, string | undefined>): string | undefined {
  let target = links.get(path);
  for (let hops = 0; target !== undefined; hops++) {
    const names = target.split("/");
    const length = names.findIndex((_, at) => links.has(names.slice(0, at + 1).join("/"))) + 1;
    if (length === 0) return target;
    if (hops === MAX_HOPS) return undefined; // a ring: no program gets through it either
    const next = links.get(names.slice(0, length).join("/"));
    target = next === undefined ? undefined : joined(next, names.slice(length));
  }
  return undefined;
}

/** The target of a link from the root of the repository; `undefined` where it leads out. */
function inRepository(path: string, to: string): string | undefined {
  if (to.startsWith("/")) return undefined;
  const names = path.split("/").slice(0, -1);
  for (const name of to.split("/")) {
    if (name === "" || name === ".") continue;
    if (name !== "..") names.push(name);
    else if (names.pop() === undefined) return undefined;
  }
  return names.join("/");
}

function joined(path: string, below: readonly string[]): string {
  return [path, ...below].filter((part) => part !== "").join("/");
}
