import {
  deepStrictEqual as deepEqual,
  match,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { join } from "node:path";
import { PatchReader } from "../../src/api/patch_text.ts";
import { utf8 } from "../../src/base/bytes.ts";
import { systemClock } from "../../src/base/clock.ts";
import { CHANGE_LIMITS, type CheckedChange, type PackedChange } from "../../src/git/change.ts";
import { type ChangeLimits, openPackedChange } from "../../src/git/packed_change.ts";
import { missing, skippable } from "../helpers/requirements.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { changeOf, type FileSpecs, PackBuilder, packedChange } from "../rigs/pack_builder.ts";
import { git } from "../rigs/git_repository.ts";

const NEVER = new AbortController().signal;
const PATH = Deno.env.get("PATH") ?? "";
/** Only Linux limits the memory of a process. */
const NO_LIMITS = Deno.build.os === "linux" ? missing("git") : "no limit of memory here";
const NO_GIT = missing("git");

function open(
  change: PackedChange,
  dir: string,
  limits?: Partial<ChangeLimits>,
): Promise<CheckedChange> {
  return openPackedChange(change, {
    dir,
    path: PATH,
    clock: systemClock,
    signal: NEVER,
    limits: { ...CHANGE_LIMITS, ...limits },
  });
}

const BEFORE: FileSpecs = {
  "README.md": "one\ntwo\n",
  "src/main.ts": "a\n",
  "src/old.ts": "old\n",
  "guide/kept.md": "kept\n",
};
const AFTER: FileSpecs = {
  "README.md": "one\n2\nthree\n",
  "src/main.ts": { content: "a\n", mode: "100755" },
  "new/deep/file.bin": { content: new Uint8Array([0, 1, 2]) },
  "guide/kept.md": "kept\n",
  "guide/link": { content: "../README.md", mode: "120000" },
};

Deno.test(skippable("a change is opened: its files, their lines and content", NO_GIT), async () => {
  await using dir = await tempDir();
  await using change = await open(await changeOf(dir.path, BEFORE, AFTER), dir.path);
  deepEqual(
    change.files.map(({ path, change, newMode, bytes, added, removed, isBinary }) =>
      [path, change, newMode, bytes, `+${added} -${removed}`, isBinary] as const
    ),
    [
      ["README.md", "modified", "100644", 12, "+2 -1", false],
      ["guide/link", "added", "120000", 12, "+1 -0", false],
      ["new/deep/file.bin", "added", "100644", 3, "+0 -0", true],
      ["src/main.ts", "modified", "100755", 2, "+0 -0", false],
      ["src/old.ts", "deleted", "", 0, "+0 -1", false],
    ],
  );
  const [readme] = change.files;
  equal(new TextDecoder().decode(await change.readBlob(readme?.blob ?? "")), "one\n2\nthree\n");
  const [, , , executable] = change.files;
  equal(new TextDecoder().decode(await change.readBlob(executable?.blob ?? "")), "a\n");
  const patch = new TextDecoder().decode(await change.patch());
  ok(patch.includes("-two\n+2\n+three\n"), patch);
});

Deno.test(
  skippable("a commit of svc and its new objects are what a repository lacks", NO_GIT),
  async () => {
    await using dir = await tempDir();
    const server = join(dir.path, "server.git");
    await git(dir.path, "init", "--quiet", "--bare", server);
    const base = new PackBuilder();
    base.commit(base.files(BEFORE));
    await unpack(server, await dir.write("base.pack", base.pack()));
    await using change = await open(await changeOf(dir.path, BEFORE, AFTER), dir.path);
    const wanted = {
      parent: change.start,
      author: { name: "svc <bot>\n", email: "bot@example.com" },
      at: Date.UTC(2026, 10, 26),
      message: "Fix the gauge\n\nSvc-Task: 1\n",
    };
    const commit = await change.commit(wanted);
    equal(await change.commit(wanted), commit, "the same commit has the same id");
    const pieces = await Array.fromAsync(change.pack(commit));
    ok(pieces.every((piece) => piece.length <= 1024 * 1024));
    const pack = await dir.write("new.pack", await new Blob(pieces).bytes());
    await unpack(server, pack);
    await git(server, "fsck", "--strict", commit);
    equal(
      await git(server, "log", "-1", "--format=%an <%ae> %aI %B", commit),
      "svc bot <bot@example.com> 2026-11-26T00:00:00+00:00 Fix the gauge\n\nSvc-Task: 1",
    );
    equal(await git(server, "rev-parse", `${commit}^{tree}`), change.tree);
    // README.md, file.bin, link, and the directories "", docs, new, new/deep, src
    const listed = await git(server, "verify-pack", "-v", pack.replace(/pack$/, "idx"));
    equal(listed.match(/^[0-9a-f]{40} (commit|tree|blob)/gm)?.length, 1 + 3 + 5, listed);
  },
);

async function unpack(repository: string, pack: string): Promise<void> {
  await git(repository, "index-pack", pack);
  const objects = join(repository, "objects", "pack");
  const name = crypto.randomUUID();
  for (const ext of ["pack", "idx"]) {
    await Deno.copyFile(pack.replace(/pack$/, ext), join(objects, `pack-${name}.${ext}`));
  }
}

Deno.test(skippable("nothing of a pack but the change comes out", NO_GIT), async () => {
  await using dir = await tempDir();
  const builder = new PackBuilder();
  const start = builder.commit(builder.files(BEFORE));
  const tree = builder.files(AFTER);
  const stowaway = builder.add("blob", "not in any tree\n");
  builder.commit(builder.files({ "other": "x\n" }), { message: "of the agent\n" });
  await using change = await open(
    await packedChange(dir.path, { start, tree, pack: builder.pack() }),
    dir.path,
  );
  await rejects(change.readBlob(stowaway), { code: "refused" });
  const commit = await change.commit({
    parent: start,
    author: { name: "svc", email: "svc@example.com" },
    at: 0,
    message: "m",
  });
  const out = await dir.write(
    "out.pack",
    await new Blob(await Array.fromAsync(change.pack(commit))).bytes(),
  );
  await git(dir.path, "init", "--quiet", "--bare", "empty.git");
  await git(join(dir.path, "empty.git"), "index-pack", out);
  const listed = await git(
    dir.path,
    "-C",
    "empty.git",
    "verify-pack",
    "-v",
    out.replace(/pack$/, "idx"),
  );
  equal(listed.match(/^[0-9a-f]{40} (commit|tree|blob)/gm)?.length, 1 + 3 + 5, listed);
  ok(!listed.includes(stowaway) && !listed.includes(start));
});

Deno.test(skippable("a patch that is too long is cut at a line, and says so", NO_GIT), async () => {
  await using dir = await tempDir();
  const lines = Array.from({ length: 200 }, (_, n) => `line ${n}\n`).join("");
  const packed = await changeOf(dir.path, BEFORE, { ...BEFORE, "README.md": lines });
  await using change = await open(packed, dir.path, { patchBytes: 500 });
  const patch = new TextDecoder().decode(await change.patch());
  ok(patch.length <= 500, patch);
  match(patch, /\n\+line \d+\n\[The patch is longer than 500 bytes, and is cut here\]\n$/);
});

Deno.test(
  skippable("a patch that is cut names the files that it does not show", NO_GIT),
  async () => {
    await using dir = await tempDir();
    const lines = Array.from({ length: 200 }, (_, n) => `line ${n}\n`).join("");
    const packed = await changeOf(dir.path, BEFORE, {
      ...BEFORE,
      "README.md": `${lines}++ b/z.sh\n`,
      "z.sh": "x\n",
      "zz.sh": "diff --git a/z.sh b/z.sh\n",
    });
    await using change = await open(packed, dir.path, { patchBytes: 1500 });
    const patch = new TextDecoder().decode(await change.patch());
    match(patch, /cut here\]\n\[Not shown: "z\.sh", \+1 -0\]\n\[Not shown: "zz\.sh", \+1 -0\]\n$/);
    const reader = new PatchReader();
    for (const line of patch.trimEnd().split("\n")) reader.look(line);
    deepEqual(reader.files.map(({ path }) => path), ["README.md", "z.sh", "zz.sh"]);
  },
);

Deno.test(skippable("a change that is stopped leaves nothing", NO_GIT), async () => {
  await using dir = await tempDir();
  const packed = await changeOf(dir.path, BEFORE, AFTER);
  const host = { dir: dir.path, path: PATH, clock: systemClock };
  const stopped = openPackedChange(packed, { ...host, signal: AbortSignal.abort() });
  await rejects(stopped, { code: "overloaded" });
  const without = openPackedChange(packed, { ...host, path: "/nonexistent", signal: NEVER });
  await rejects(without, { message: "git is not installed, install it" });
  deepEqual([...Deno.readDirSync(dir.path)].filter(({ isDirectory }) => isDirectory), []);
});

Deno.test(skippable("git holds no large object in memory", NO_LIMITS), async () => {
  await using dir = await tempDir();
  const limited = `#!/bin/sh\nulimit -v 250000 && PATH=${PATH} exec git "$@"\n`;
  await Deno.chmod(await dir.write("git", limited), 0o755);
  const packed = await changeOf(dir.path, BEFORE, {
    ...BEFORE,
    bomb: { content: new Uint8Array(300 * 1024 * 1024) },
  });
  await rejects(
    openPackedChange(packed, {
      dir: dir.path,
      path: `${dir.path}:${PATH}`,
      clock: systemClock,
      signal: NEVER,
    }),
    { message: /^The change has 300\.0 MiB unpacked/ },
  );
});

Deno.test(
  skippable("other work goes on while a directory of 400,000 files is compared", NO_GIT),
  async () => {
    await using dir = await tempDir();
    const builder = new PackBuilder();
    const id = Uint8Array.fromHex(builder.add("blob", "x\n"));
    const entries = Array.from({ length: 400_000 }, (_, at) => [
      utf8(`100644 ${String(at).padStart(8, "0")}\0`),
      id,
    ]).flat();
    const start = builder.commit(builder.add("tree", joined(entries)));
    const tree = builder.add("tree", joined([...entries, utf8("100644 a\0"), id]));
    const packed = await packedChange(dir.path, { start, tree, pack: builder.pack() });
    let [longest, last] = [0, performance.now()];
    const watch = setInterval(() => {
      const now = performance.now();
      longest = Math.max(longest, now - last);
      last = now;
    }, 20);
    try {
      await using change = await open(packed, dir.path);
      deepEqual(change.files.map(({ path }) => path), ["a"]);
    } finally {
      clearInterval(watch);
    }
    ok(longest < 1500, `${longest} ms`);
  },
);

/** Like `concatBytes`, for more parts than a call has arguments. */
function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

Deno.test(
  skippable("a submodule is told as one, and its commit stays where it is", NO_GIT),
  async () => {
    await using dir = await tempDir();
    const lib = "3".repeat(40);
    const after = { ...BEFORE, lib: { mode: "160000", id: lib } };
    await using change = await open(await changeOf(dir.path, BEFORE, after), dir.path);
    const [file, ...others] = change.files;
    deepEqual([file?.path, file?.newMode, file?.blob, file?.bytes, others.length], [
      "lib",
      "160000",
      lib,
      0,
      0,
    ]);
    await rejects(change.readBlob(lib), { code: "refused" });
    const author = { name: "svc", email: "svc@example.com" };
    const commit = await change.commit({ parent: change.start, author, at: 0, message: "m" });
    ok((await Array.fromAsync(change.pack(commit))).length > 0);
    match(new TextDecoder().decode(await change.patch()), /\+Subproject commit 3{40}\n/);
  },
);
