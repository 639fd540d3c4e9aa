/**
 * The whole way of a change: from a working tree over a pack and a commit of svc to a branch of a server.
 *
 * @module
 */

import { ok, strictEqual as equal } from "node:assert/strict";
import { dirname, join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { NO_COMMIT } from "../../src/git/change.ts";
import { packChange } from "../../src/git/pack_change.ts";
import { openPackedChange } from "../../src/git/packed_change.ts";
import { pushRef } from "../../src/git/smart_http.ts";
import { TOKEN } from "../fakes/github.ts";
import { fakeGitHubWithGit } from "../fakes/github_git.ts";
import { times } from "../helpers/program.ts";
import { Random } from "../helpers/random.ts";
import { missing, skippable } from "../helpers/requirements.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { git } from "../rigs/git_repository.ts";

const REPOSITORY = "brightwater/tidepool";
const ROUNDS = times(20, 4);

const NAME = `any change of a working tree arrives as it is${ROUNDS.inName}`;

Deno.test(skippable(NAME, missing("git")), async () => {
  const seed = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
  const random = new Random(seed);
  await using fake = await fakeGitHubWithGit();
  await using dir = await tempDir();
  const tree = join(dir.path, "tree");
  await git(dir.path, "clone", "--quiet", fake.git.directory(REPOSITORY), "tree");
  const host = {
    env: { PATH: Deno.env.get("PATH") ?? "" },
    path: Deno.env.get("PATH") ?? "",
    clock: systemClock,
    signal: new AbortController().signal,
  };
  const remote = {
    url: `${fake.url}/${REPOSITORY}.git`,
    authorization: `Basic ${btoa(`x-access-token:${TOKEN.token}`)}`,
    needs: "the permission contents=write",
    signal: host.signal,
  };
  for (let round = 0; round < ROUNDS.count; round++) {
    const told = `round ${round} of seed ${seed}`;
    const start = await git(tree, "rev-parse", "HEAD");
    while (await git(tree, "status", "--porcelain") === "") {
      for (let n = random.between(1, 12); n > 0; n--) await changeOne(tree, random);
    }
    const { pack, ...change } = await packChange({ start, of: { all: true } }, {
      ...host,
      directory: tree,
    });
    const file = await dir.write("change.pack", pack);
    await using opened = await openPackedChange({ ...change, pack: file }, {
      ...host,
      dir: dir.path,
    });
    const ref = `refs/heads/svc/${round}`;
    const author = { name: "svc", email: "svc@example.com" };
    const id = await opened.commit({ parent: start, author, at: 0, message: told });
    const update = { ref, old: NO_COMMIT, new: id, pack: opened.pack(id) };
    const pushed = await pushRef(remote, update, systemClock);
    equal(JSON.stringify(pushed), '{"result":"done"}', told);
    await git(tree, "add", "--all");
    const wanted = await git(tree, "write-tree");
    equal(await fake.git.run(REPOSITORY, "rev-parse", `${ref}^{tree}`), wanted, told);
    const listed = await git(tree, "diff", "--cached", "--no-renames", "--name-status");
    equal(opened.files.length, listed.split("\n").length, told);
    const patch = await dir.write("change.patch", await opened.patch());
    if (!opened.files.some(({ isBinary }) => isBinary)) {
      await git(tree, "reset", "--quiet", "--hard", start);
      await git(tree, "apply", "--index", patch);
      equal(await git(tree, "write-tree"), wanted, `the patch of ${told}`);
    }
    await git(tree, "fetch", "--quiet", "origin", ref);
    await git(tree, "reset", "--quiet", "--hard", "FETCH_HEAD");
    await git(tree, "clean", "-dffqx");
  }
  await fake.git.run(REPOSITORY, "fsck", "--strict", "--full");
  ok(fake.calls.every(({ status }) => status === 200));
});

/** Writes, moves, removes or turns one file of a working tree into another kind of file. */
async function changeOne(tree: string, random: Random): Promise<void> {
  const name = `${["", "a/", "a/b/", "ü x/", "c/"][random.below(5)]}${"fghij"[random.below(5)]}`;
  const path = join(tree, name);
  if (random.chance(0.3)) {
    await Deno.remove(path, { recursive: true }).catch(() => {});
    return;
  }
  // A file in the place of a directory, and the other way round.
  if (random.chance(0.2)) await Deno.remove(join(tree, "a"), { recursive: true }).catch(() => {});
  if (random.chance(0.1)) await Deno.writeTextFile(join(tree, "c"), "c\n").catch(() => {});
  const isFile = (await Deno.stat(dirname(path)).catch(() => undefined))?.isFile;
  if (isFile === true) await Deno.remove(dirname(path));
  await Deno.mkdir(dirname(path), { recursive: true });
  await Deno.remove(path, { recursive: true }).catch(() => {});
  if (random.chance(0.15)) {
    await Deno.symlink(random.chance(0.5) ? "f" : "./h", path);
    return;
  }
  const lines = Array.from({ length: random.below(40) }, () => `line ${random.below(5)}`);
  const end = random.chance(0.5) ? "\n" : "";
  const content = random.chance(0.1) ? "\0\u0001binary" : `${lines.join("\n")}${end}`;
  await Deno.writeTextFile(path, content);
  if (random.chance(0.3)) await Deno.chmod(path, 0o755);
}
