/**
 * Packs of a stranger: of each of them nothing comes out, and nothing is left of its repository.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, rejects } from "node:assert/strict";
import { systemClock } from "../../src/base/clock.ts";
import { AppError } from "../../src/base/errors.ts";
import { CHANGE_LIMITS } from "../../src/git/change.ts";
import { type ChangeLimits, openPackedChange } from "../../src/git/packed_change.ts";
import { missing, skippable } from "../helpers/requirements.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import {
  type FileSpecs,
  PackBuilder,
  packedChange,
  type TreeEntry,
  withCopies,
} from "../rigs/pack_builder.ts";

/** A pack that has to be refused. */
interface Hostile {
  readonly what: string;
  /** Makes the objects; returns what the step says that they are. */
  readonly make: (builder: PackBuilder) => {
    readonly start?: string;
    readonly tree: string;
    /** Objects that the pack lacks. */
    readonly without?: readonly string[];
    /** Changes the bytes of the pack. */
    readonly spoil?: (pack: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>;
  };
  readonly limits?: Partial<ChangeLimits>;
  readonly refused: RegExp;
}

const BEFORE: FileSpecs = { "README.md": "one\n", "src/main.ts": "a\n" };

/** A change that adds files. */
function adding(files: FileSpecs) {
  return (builder: PackBuilder) => ({ tree: builder.files({ ...BEFORE, ...files }) });
}

/** A change whose root has one entry more, beside `README.md` and after it. */
function withEntry(name: string | Uint8Array, mode = "100644") {
  return (builder: PackBuilder) => {
    const id = mode === "40000" ? builder.files({ config: "x\n" }) : builder.add("blob", "x\n");
    const readme = { mode: "100644", name: "README.md", id: builder.add("blob", "one\n") };
    const entries: readonly TreeEntry[] = [{ mode, name, id }, readme];
    const text = typeof name === "string" ? name : new TextDecoder("latin1").decode(name);
    return { tree: builder.tree(text < "README.md" ? entries : entries.toReversed()) };
  };
}

const link = (content: string) => ({ mode: "120000", content });

const HOSTILE: readonly Hostile[] = [
  ...["..", ".", ".git", ".GIT", "git~1", ".git ", ".g\u200cit", "a/b"].map((name): Hostile => ({
    what: `an entry "${name}"`,
    make: withEntry(name),
    refused: /git does not take the objects/,
  })),
  { what: "a directory .git", make: withEntry(".git", "40000"), refused: /hasDotgit/ },
  { what: "a name with a line break", make: withEntry("a\nb"), refused: /"a\\nb" has hidden/ },
  { what: "a name that turns around", make: withEntry("a\u202eb"), refused: /hidden characters/ },
  { what: "a name of no width", make: withEntry("a\u200bb"), refused: /hidden characters/ },
  { what: "a name of no Unicode", make: withEntry(new Uint8Array([0xff])), refused: /UTF-8/ },
  { what: "a mode of the group", make: withEntry("a", "100664"), refused: /mode 100664/ },
  { what: "twins in case", make: adding({ "readme.MD": "x\n" }), refused: /one file where case/ },
  {
    what: "twins in composition",
    make: adding({ "src/\u00e9": "x\n", "src/e\u0301": "y\n" }),
    refused: /one file where case/,
  },
  {
    what: "a directory beside its twin",
    make: adding({ "SRC/main.ts": "x\n" }),
    refused: /one file where case/,
  },
  ...["/etc/passwd", "../x", "a/../../x", "src/..", "../../..", "c:/x", "\\\\host\\x", "..\\..\\x"]
    .map((target): Hostile => ({
      what: `a link to ${target}`,
      make: adding({ link: link(target) }),
      refused: /symbolic link/,
    })),
  {
    what: "a link that leaves its directory and the repository",
    make: adding({ "src/deep/link": link("../../../x") }),
    refused: /leads out/,
  },
  { what: "a link into .git", make: adding({ link: link(".Git/config") }), refused: /symbolic/ },
  { what: "a link to nothing", make: adding({ link: link("") }), refused: /symbolic link/ },
  {
    what: "a link to a path that is too long",
    make: adding({ link: link("a/".repeat(3000)) }),
    refused: /too long/,
  },
  {
    what: "a .gitmodules with an option as address",
    make: adding({
      ".gitmodules": '[submodule "x"]\n\tpath = x\n\turl = --upload-pack=touch /tmp/x\n',
    }),
    refused: /gitmodulesUrl/,
  },
  {
    what: "a link in the place of .gitmodules",
    make: adding({ ".gitmodules": link("README.md") }),
    refused: /gitmodulesSymlink/,
  },
  {
    what: "a pointer of Git LFS",
    make: adding({
      "a.bin": `version https://git-lfs.github.com/spec/v1\noid sha256:${"0".repeat(64)}\nsize 5\n`,
    }),
    refused: /Git LFS/,
  },
  {
    what: "a blob that is missing",
    make: adding({ "a": { id: "1".repeat(40) } }),
    refused: /lacks the object 1{40}/,
  },
  {
    what: "a directory that is missing",
    make(builder) {
      const tree = builder.files({ ...BEFORE, "new/a": "x\n" });
      return { tree, without: [builder.files({ a: "x\n" })] };
    },
    refused: /lacks the object/,
  },
  {
    what: "the blob of the old side is missing",
    make(builder) {
      return {
        tree: builder.files({ "src/main.ts": "a\n" }),
        without: [builder.add("blob", "one\n")],
      };
    },
    refused: /lacks the object/,
  },
  {
    what: "the commit is missing",
    make: (builder) => ({ start: "2".repeat(40), tree: builder.files(BEFORE) }),
    refused: /lacks the object 2{40}/,
  },
  {
    what: "the tree is missing",
    make: () => ({ tree: "2".repeat(40) }),
    refused: /lacks the object 2{40}/,
  },
  {
    what: "a blob in the place of the tree",
    make: (builder) => ({ tree: builder.add("blob", "one\n") }),
    refused: /is a blob, no tree/,
  },
  {
    what: "a tree in the place of a blob",
    make: (builder) => ({
      tree: builder.files({ ...BEFORE, a: { id: builder.files({ x: "x\n" }) } }),
    }),
    refused: /is a tree, no blob|cannot read/,
  },
  {
    what: "an option in the place of the tree",
    make: () => ({ tree: "--output=/tmp/x" }),
    refused: /40 hexadecimal digits/,
  },
  {
    what: "SHA-256 in the place of SHA-1",
    make: () => ({ tree: "a".repeat(64) }),
    refused: /40 hexadecimal digits/,
  },
  { what: "nothing that changed", make: adding({}), refused: /Nothing has changed/ },
  {
    what: "no pack",
    make: (builder) => ({ tree: builder.files(BEFORE), spoil: () => new Uint8Array() }),
    refused: /git does not take the objects/,
  },
  {
    what: "a pack that is cut",
    make: (builder) => ({
      tree: builder.files({ a: "x\n" }),
      spoil: (pack) => pack.slice(0, -30),
    }),
    refused: /git does not take the objects/,
  },
  {
    what: "a pack with a wrong sum",
    make: (builder) => ({
      tree: builder.files({ a: "x\n" }),
      spoil: (pack) => pack.with(-1, (pack.at(-1) ?? 0) ^ 1) as Uint8Array<ArrayBuffer>,
    }),
    refused: /git does not take the objects/,
  },
  {
    what: "a pack of too many bytes",
    make: adding({ a: crypto.getRandomValues(new Uint8Array(60_000)).toHex() }),
    limits: { packBytes: 50_000 },
    refused: /KiB packed, and may have/,
  },
  {
    what: "a small pack that unpacks to much",
    make: adding({ bomb: { content: new Uint8Array(200 * 1024 * 1024) } }),
    refused: /200.0 MiB unpacked, and may have 128.0 MiB/,
  },
  {
    what: "new content of more bytes than it may have",
    make: adding({ a: "x".repeat(60_000), b: "y".repeat(60_000) }),
    limits: { bytes: 100_000 },
    refused: /The change has 117.2 KiB, and may have/,
  },
  {
    what: "directories of more bytes than it may have",
    make: adding(
      Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`file-${n}`, "x\n"])),
    ),
    limits: { bytes: 30_000 },
    refused: /KiB of directories, and may have 29.3 KiB/,
  },
  {
    what: "one file of more bytes than it may have",
    make: adding({ a: "x".repeat(60_000) }),
    limits: { fileBytes: 50_000 },
    refused: /"a" has 58.6 KiB, and may have 48.8 KiB/,
  },
  {
    what: "more files than it may have",
    make: adding({ a: "x\n", b: "x\n", c: "x\n" }),
    limits: { files: 2 },
    refused: /has 3 files or more, and may have 2/,
  },
  {
    what: "a directory that is its own child many times",
    make(builder) {
      let id = builder.files({ a: "x\n" });
      for (let depth = 0; depth < 40; depth++) { // 2 ** 40 files in 41 objects
        id = builder.tree(["a", "b"].map((name) => ({ mode: "40000", name, id })));
      }
      return { tree: id };
    },
    refused: /has 10001 files or more/,
  },
  {
    what: "a directory without files that is its own child many times",
    make(builder) {
      let id = builder.tree([]);
      for (let depth = 0; depth < 40; depth++) {
        id = builder.tree(["a", "b"].map((name) => ({ mode: "40000", name, id })));
      }
      return { tree: id };
    },
    refused: /too many directories/,
  },
  {
    what: "a directory as deep as its objects",
    make(builder) {
      let id = builder.files({ a: "x\n" });
      for (let depth = 0; depth < 10_000; depth++) {
        id = builder.tree([{ mode: "40000", name: "a", id }]);
      }
      return { tree: id };
    },
    refused: /is too long/,
  },
  {
    what: "a directory that goes, as deep as its objects",
    make(builder) {
      let id = builder.files({ a: "x\n" });
      for (let depth = 0; depth < 10_000; depth++) {
        id = builder.tree([{ mode: "40000", name: "a", id }]);
      }
      return { start: builder.commit(id), tree: builder.files(BEFORE) };
    },
    refused: /refused: "a.*is too long/,
  },
  {
    what: "a few bytes that stand for 900 MiB",
    make(builder) {
      const length = 900 * 1024;
      const of = builder.add("blob", new Uint8Array(length));
      return {
        tree: builder.files({ a: "x\n" }),
        spoil: (pack) => withCopies(pack, { of, length, times: 1024 }),
      };
    },
    refused: /git does not take .*over limit/,
  },
];

for (const { what, make, limits, refused } of HOSTILE) {
  Deno.test(skippable(`nothing comes out of a pack with ${what}`, missing("git")), async () => {
    await using dir = await tempDir();
    const builder = new PackBuilder();
    const base = builder.commit(builder.files(BEFORE));
    const { start = base, tree, without = [], spoil = (pack) => pack } = make(builder);
    const pack = spoil(builder.pack(without));
    const change = await packedChange(dir.path, { start, tree, pack });
    const host = {
      dir: dir.path,
      path: Deno.env.get("PATH") ?? "",
      clock: systemClock,
      signal: new AbortController().signal,
      limits: { ...CHANGE_LIMITS, ...limits },
    };
    await rejects(openPackedChange(change, host), (error) => {
      match(error instanceof AppError ? `${error.code}: ${error.message}` : String(error), refused);
      return true;
    });
    const left = [...Deno.readDirSync(dir.path)].map(({ name }) => name);
    deepEqual(left.filter((name) => !name.endsWith(".pack")), []);
  });
}
