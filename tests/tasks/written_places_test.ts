/**
 * What svc knows of the places at which steps in sandboxes could write.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects } from "node:assert/strict";
import { join } from "node:path";
import { WrittenPlaces } from "../../src/tasks/workspace/written_places.ts";
import { tempDir } from "../helpers/temp_dir.ts";

/** Whether svc may make a worktree of `path` in the repository `common`. */
const CASES: Readonly<Record<string, { path?: string; common: string; refused?: true }>> = {
  "the place itself, whose .git was always closed": { common: "guarded/.git" },
  "the place itself, whose .git leads elsewhere": { common: "elsewhere" },
  "the place itself, whose git directory lies deeper": { common: "guarded/x/.git", refused: true },
  "a directory in the place": { path: "guarded/x", common: "guarded/.git", refused: true },
  "a place that had no .git at first": { path: "late", common: "late/.git", refused: true },
  "a place in a repository above": { path: "late", common: ".git", refused: true },
  "a git directory that is the place": { path: "free", common: "bare", refused: true },
  "a git directory in a place": { path: "free", common: "late/x/.git", refused: true },
  "a git directory in a place that has another": {
    path: "free",
    common: "guarded/x/.git",
    refused: true,
  },
  "the git directory of another place": { path: "free", common: "guarded/.git" },
  "a git directory that a Sandbox gives": { path: "given", common: "given/.git", refused: true },
  "a place next to one with the same beginning": { path: "late2", common: "late2/.git" },
  "a link outside of all places": { path: "link", common: "free/.git" },
  "a link in a place": { path: "guarded/link", common: "free/.git", refused: true },
  "a link over a place": { path: "over/x", common: "free/.git", refused: true },
};

Deno.test("WrittenPlaces: what steps could have made is refused, also after a restart", async () => {
  await using dir = await tempDir();
  const at = (path: string) => join(dir.path, path);
  const folders = ["guarded/x", "late", "late2", "free/x", "given", "bare"];
  for (const path of folders) await Deno.mkdir(at(path), { recursive: true });
  await Deno.symlink(at("free"), at("link"));
  await Deno.symlink("../free", at("guarded/link"));
  await Deno.symlink(at("guarded/link"), at("over"));
  const file = at("places.jsonl");
  const places = new WrittenPlaces(file);
  const place = (path: string, keepsGit: boolean) => ({ path: at(path), keepsGit });
  await Promise.all([
    places.note([place("guarded", true), place("late", false), place("bare", true)]),
    places.note([place("given", true), place("given/.git", false)]),
    places.note([place("late", true)]),
  ]);
  for (const known of [places, new WrittenPlaces(file)]) {
    const refused = [];
    for (const [what, { path = "guarded", common }] of Object.entries(CASES)) {
      if (await known.check(at(path), at(common)).then(() => false, () => true)) refused.push(what);
    }
    const wanted = Object.entries(CASES).flatMap(([what, { refused }]) => refused ? [what] : []);
    deepEqual(refused, wanted);
  }
  await Deno.writeTextFile(file, "damaged\n");
  await rejects(new WrittenPlaces(file).check(at("free")), SyntaxError);
});
