/**
 * What comes out of a checked change: the lines it counts, the patch that people read, a commit, and the
 * pack that a server gets.
 *
 * @module
 */

import { join } from "node:path";
import { concatBytes, utf8 } from "../base/bytes.ts";
import { spellInLines } from "../base/control_characters.ts";
import { AppError } from "../base/errors.ts";
import { sizeText } from "../base/size.ts";
import type { CheckedChange, NewCommit } from "./change.ts";
import { type GitPlace, mustGit, runGit, wordsOfGit } from "./git_program.ts";

/** Where a change begins and leads to. */
type Sides = Pick<CheckedChange, "start" | "tree">;

/** Lines of a file that came and went. */
export interface LineCount {
  /** 0 for a binary file, as `removed`. */
  readonly added: number;
  readonly removed: number;
  readonly isBinary: boolean;
}

/** Most bytes that git prints of the paths of a change. */
const MAX_LIST_BYTES = 8 * 1024 * 1024;
/** Most bytes of a piece of a pack. */
const PIECE = 1024 * 1024;

/** Compares both sides; git holds text of up to 4 MiB in memory for it, and counts other as binary. */
function diffArgs({ start, tree }: Sides): string[] {
  const quiet = ["--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none"];
  return ["-c", "core.bigFileThreshold=4m", "diff-tree", "-r", ...quiet, start, tree];
}

/** The lines of each file that differs, by its path. */
export async function countLines(place: GitPlace, sides: Sides): Promise<Map<string, LineCount>> {
  const args = [...diffArgs(sides), "-z", "--no-renames", "--numstat"];
  const { out } = await mustGit(place, args, { maxBytes: MAX_LIST_BYTES, what: "paths" });
  const text = new TextDecoder().decode(out);
  const counts = text.matchAll(/([0-9]+|-)\t([0-9]+|-)\t([^\0]+)\0/g);
  return new Map(counts.map(([, added, removed, path = ""]): [string, LineCount] => {
    const isBinary = added === "-";
    const count = (lines: string | undefined) => isBinary ? 0 : Number(lines);
    return [path, { added: count(added), removed: count(removed), isBinary }];
  }));
}

/**
 * The patch, in the form of `git diff`. One of more than `most` bytes is cut, and says so, with the
 * paths that it does not show.
 */
export async function patchOf(
  place: GitPlace,
  change: Sides & Pick<CheckedChange, "files">,
  most: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const run = async (...more: readonly string[]) => {
    const args = ["-c", "core.quotePath=false", ...diffArgs(change), "-p", ...more];
    const ended = await runGit(place, args, { maxBytes: most });
    if (ended.endedFor !== undefined || ended.code === 0) return ended;
    throw new AppError("refused", `git cannot compare the change: ${wordsOfGit(ended.err)}`);
  };
  const whole = await run("-M", "-l1000");
  if (whole.endedFor === undefined) return whole.out;
  // Without renames the first line about a file has its path twice, and nothing else.
  const { out } = await run("--no-renames");
  const end = utf8(`[The patch is longer than ${sizeText(most)}, and is cut here]\n`);
  const shown = out.subarray(0, out.lastIndexOf(0x0a, most - end.length - 1) + 1);
  const heads = new Set(new TextDecoder().decode(shown).match(/^diff --git .*$/gm));
  const rest = change.files.filter(({ path }) => !heads.has(`diff --git a/${path} b/${path}`));
  const list = rest.map(({ path, added, removed }) =>
    `[Not shown: "${spellInLines(path, "")}", +${added} -${removed}]\n`
  );
  return concatBytes(shown, end, utf8(list.join("")));
}

/** Makes a commit; returns its id. */
export async function makeCommit(
  place: GitPlace,
  tree: string,
  { parent, author, at, message }: NewCommit,
): Promise<string> {
  const who = `${named(author.name)} <${named(author.email)}> ${Math.floor(at / 1000)} +0000`;
  const head = `tree ${tree}\nparent ${parent}\nauthor ${who}\ncommitter ${who}\n`;
  const text = `${head}\n${message.replaceAll("\0", "").trimEnd()}\n`;
  const args = ["hash-object", "-t", "commit", "-w", "--stdin"];
  const { out } = await mustGit(place, args, { input: utf8(text) });
  return new TextDecoder().decode(out).trim();
}

/** A name or an address as a commit can have it. */
function named(text: string): string {
  return text.replaceAll(/[<>\p{Cc}]/gu, "").trim();
}

/** A pack of exactly these objects, in pieces. */
export async function* packOf(
  place: GitPlace,
  ids: readonly string[],
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const list = ids.map((id) => `${id}\n`).join("");
  const args = ["pack-objects", "--quiet", "--threads=1", "out"];
  const { out } = await mustGit(place, args, { input: utf8(list) });
  const name = `out-${new TextDecoder().decode(out).trim()}.pack`;
  using file = await Deno.open(join(place.directory, name));
  for (;;) {
    const piece = new Uint8Array(PIECE);
    let length = 0;
    while (length < PIECE) {
      const read = await file.read(piece.subarray(length));
      if (read === null) break;
      length += read;
    }
    if (length > 0) yield piece.subarray(0, length);
    if (length < PIECE) return;
  }
}
