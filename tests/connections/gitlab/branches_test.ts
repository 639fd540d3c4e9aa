/**
 * Branches, comparisons and trees at GitLab: trees against real git, whatever the names and modes.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { CallFailed, type ForgeRepository } from "../../../src/connections/api/forge.ts";
import { treeId } from "../../../src/connections/api/tree_id.ts";
import { type FakeGitLab, fakeGitLab, GITLAB_PROJECT } from "../../fakes/gitlab.ts";
import { gitLabProject } from "../../rigs/gitlab_project.ts";
import { missing, skippable } from "../../helpers/requirements.ts";

Deno.test(
  skippable("the newest commit is that of the branch of exactly this name", missing("git")),
  async () => {
    await using fake = await fakeGitLab();
    const branch = "feature/tide #1 %2F ü";
    const name = branch.replaceAll(" ", "-");
    const sha = await fake.git.commit(GITLAB_PROJECT, name, { "a.txt": "a" }, { from: "main" });
    await fake.git.run(GITLAB_PROJECT, "tag", "v1", "main");
    const at = gitLabProject(fake);
    equal(await at.headOf(name), sha);
    for (const other of ["feature", "v1", sha, "HEAD", "refs/heads/main", "main^", "nope"]) {
      equal(await at.headOf(other), undefined, other);
    }
    fake.interfere = () => Response.json({ name: "main", commit: { id: sha } });
    equal(await at.headOf("Main"), undefined);
  },
);

Deno.test(skippable("what one commit has and another has not", missing("git")), async () => {
  await using fake = await fakeGitLab();
  const start = await fake.git.find(GITLAB_PROJECT, "main") ?? "";
  const one = await fake.git.commit(GITLAB_PROJECT, "svc/a", { "a.txt": "1" }, { from: "main" });
  const two = await fake.git.commit(GITLAB_PROJECT, "svc/a", { "a.txt": "2" });
  const other = await fake.git.commit(GITLAB_PROJECT, "main", { "b.txt": "b" });
  const at = gitLabProject(fake);
  const found = await at.compare("main", "svc/a");
  deepEqual([found.isKnown, found.ahead, found.behind], [true, 2, 1]);
  deepEqual(found.commits.map(({ sha, message, by }) => [sha, message, by]), [
    [one, "Change a.txt\n", "Ada Pereira"],
    [two, "Change a.txt\n", "Ada Pereira"],
  ]);
  deepEqual((await at.compare(other, start)).ahead, 0);
  equal((await at.compare(start, other)).behind, 0);
  const unknown = { isKnown: false, ahead: 0, behind: 0, commits: [] };
  deepEqual(await at.compare("main", "f".repeat(40)), unknown);
  deepEqual(await at.compare("nope", "main"), unknown);
  fake.interfere = () => Response.json({ commits: "all", compare_timeout: true });
  deepEqual(await at.compare("main", "svc/a"), unknown);
  fake.interfere = () => new Response("", { status: 500 });
  await rejects(at.compare("main", "svc/a"), CallFailed);
});

/** Commits a tree of entries as git's own program makes it; its id, and that of the commit. */
async function commitTree(
  { git }: FakeGitLab,
  entries: readonly (readonly [mode: string, type: string, name: string])[],
): Promise<{ readonly tree: string; readonly commit: string }> {
  const run = (...args: readonly string[]) => git.run(GITLAB_PROJECT, ...args);
  const main = await run("rev-parse", "main");
  const objects: Record<string, string> = {
    blob: await run("rev-parse", "main:README.md"),
    tree: await run("rev-parse", "main^{tree}"),
    commit: main,
  };
  const lines = entries.map(([mode, type, name]) => `${mode} ${type} ${objects[type]}\t${name}\0`);
  const child = new Deno.Command("git", {
    args: ["-C", git.directory(GITLAB_PROJECT), "mktree", "-z", "--missing"],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(lines.join("")));
  await writer.close();
  const tree = new TextDecoder().decode((await child.output()).stdout).trim();
  const commit = await run(
    "-c",
    "user.name=Ada",
    "-c",
    "user.email=ada@x.example",
    "commit-tree",
    tree,
    "-p",
    main,
    "-m",
    "A tree",
  );
  await run("update-ref", "refs/heads/svc/tree", commit);
  return { tree, commit };
}

/** The id of the tree of the only commit that a branch is ahead. */
async function treeOf(at: ForgeRepository): Promise<string> {
  const { commits: [commit] } = await at.compare("main", "svc/tree");
  ok(commit !== undefined);
  return await commit.tree();
}

const BLOB = ["100644", "blob"] as const;
const TREE = ["040000", "tree"] as const;

const TREES: Readonly<Record<string, readonly (readonly [string, string, string])[]>> = {
  "every mode": [
    [...BLOB, "file"],
    ["100755", "blob", "program"],
    ["120000", "blob", "link"],
    ["160000", "commit", "module"],
    [...TREE, "directory"],
  ],
  "a directory among files that sort around its slash": [
    [...TREE, "a"],
    [...BLOB, "a.b"],
    [...BLOB, "a-b"],
    [...BLOB, "a0"],
    [...BLOB, "a b"],
    [...TREE, "a.c"],
  ],
  "a submodule, which sorts as a file": [["160000", "commit", "a"], [...BLOB, "a.b"]],
  "spaces, quotes, line breaks and backslashes": [
    [...BLOB, " "],
    [...BLOB, 'a "quoted" name'],
    [...BLOB, "two\nlines"],
    [...BLOB, "tab\there"],
    [...BLOB, "back\\slash"],
    [...BLOB, "%2F"],
  ],
  "unicode, sorted by bytes and not by code units": [
    [...BLOB, "ü"],
    [...BLOB, "u\u0308"],
    [...BLOB, "\uffee"],
    [...BLOB, "\u{1f30a}"],
    [...TREE, "潮"],
    [...BLOB, "Ω"],
    [...BLOB, "zz"],
    [...BLOB, "ZZ"],
  ],
  "no entry": [],
  "entries of several pages": Array.from(
    { length: 950 },
    (_, n) => [...(n % 3 === 0 ? TREE : BLOB), `n${n}`] as const,
  ),
};

for (const [name, entries] of Object.entries(TREES)) {
  Deno.test(skippable(`the id of a tree is git's: ${name}`, missing("git")), async () => {
    await using fake = await fakeGitLab();
    const { tree } = await commitTree(fake, entries);
    equal(await treeOf(gitLabProject(fake)), tree);
  });
}

Deno.test(
  skippable("a tree with too many entries, or without an end, has no id", missing("git")),
  async () => {
    await using fake = await fakeGitLab();
    const entries = Array.from({ length: 1001 }, (_, n) => [...BLOB, `n${n}`] as const);
    await commitTree(fake, entries);
    const at = gitLabProject(fake);
    equal(await treeOf(at), "");
    equal(fake.calls.filter(({ path }) => path.includes("/tree?")).length, 10);
    fake.interfere = ({ path }) => {
      if (!path.includes("/tree?")) return undefined;
      return Response.json([], { headers: { link: `<${fake.url}${path}>; rel="next"` } });
    };
    equal(await treeOf(at), "");
    fake.interfere = ({ path }) => path.includes("/tree?") ? Response.json({}) : undefined;
    equal(await treeOf(at), "");
  },
);

Deno.test(
  skippable("a tree that cannot be read is an error, not another tree", missing("git")),
  async () => {
    await using fake = await fakeGitLab();
    await commitTree(fake, [[...BLOB, "a"]]);
    fake.interfere = ({ path }) =>
      path.includes("/tree?") ? new Response("", { status: 503 }) : undefined;
    await rejects(treeOf(gitLabProject(fake)), CallFailed);
  },
);

Deno.test(skippable("entries that git would not have give no id", missing("git")), () => {
  const good = { id: "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", name: "a", type: "blob" };
  equal(treeId([{ ...good, mode: "100644" }]).length, 40);
  for (
    const bad of [
      null,
      "a",
      [],
      {},
      { ...good, mode: 100644 },
      { ...good, mode: "100645" },
      { ...good, mode: "__proto__" },
      { ...good, mode: "constructor" },
      { ...good, mode: "040000" },
      { ...good, mode: "160000" },
      { ...good, mode: "100644", name: "" },
      { ...good, mode: "100644", name: "a/b" },
      { ...good, mode: "100644", name: "a\0b" },
      { ...good, mode: "100644", name: "\ud800" },
      { ...good, mode: "100644", id: "E69DE29BB2D1D6434B8B29AE775AD8C2E48C5391" },
      { ...good, mode: "100644", id: "e69de29" },
      { ...good, mode: "100644", id: `${"0".repeat(64)}` },
    ]
  ) {
    equal(treeId([{ ...good, mode: "100644", name: "z" }, bad]), "", JSON.stringify(bad));
  }
});
