/**
 * Makes objects of git and packs of them by hand, so that a test can pack what no git would write.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { concatBytes, utf8 } from "../../src/base/bytes.ts";
import type { PackedChange } from "../../src/git/change.ts";

/** A file of a tree: its text, or its mode and content; `id` names an object that is not made. */
export type FileSpec =
  | string
  | { readonly mode?: string; readonly content?: Uint8Array | string; readonly id?: string };

/** Files of a tree by their paths. */
export type FileSpecs = Readonly<Record<string, FileSpec>>;

/** One entry of a tree. */
export interface TreeEntry {
  readonly mode: string;
  readonly name: string | Uint8Array;
  readonly id: string;
}

const TYPES = { commit: 1, tree: 2, blob: 3, tag: 4 } as const;

/** A type of object. */
export type ObjectType = keyof typeof TYPES;

const AUTHOR = "Ada Pereira <ada@brightwater.example> 1700000000 +0000";

/** Collects objects, and packs them. */
export class PackBuilder {
  readonly objects = new Map<string, { readonly type: ObjectType; readonly bytes: Uint8Array }>();

  /** Adds an object; returns its id. */
  add(type: ObjectType, content: Uint8Array | string): string {
    const bytes = typeof content === "string" ? utf8(content) : content;
    const id = createHash("sha1").update(`${type} ${bytes.length}\0`).update(bytes).digest("hex");
    this.objects.set(id, { type, bytes });
    return id;
  }

  /** Adds a tree of exactly these entries, in this order. */
  tree(entries: readonly TreeEntry[]): string {
    return this.add(
      "tree",
      concatBytes(...entries.flatMap(({ mode, name, id }) => [
        utf8(`${mode} `),
        typeof name === "string" ? utf8(name) : name,
        utf8("\0"),
        Uint8Array.fromHex(id),
      ])),
    );
  }

  /** Adds the trees and blobs of some files; returns the id of the root. */
  files(specs: FileSpecs): string {
    const folders = new Map<string, FileSpecs>();
    const entries: TreeEntry[] = [];
    for (const [path, spec] of Object.entries(specs)) {
      const [name = "", ...rest] = path.split("/");
      if (rest.length > 0) {
        folders.set(name, { ...folders.get(name), [rest.join("/")]: spec });
        continue;
      }
      const { mode = "100644", content = "", id } = typeof spec === "string"
        ? { content: spec }
        : spec;
      entries.push({ mode, name, id: id ?? this.add("blob", content) });
    }
    for (const [name, inside] of folders) {
      entries.push({ mode: "40000", name, id: this.files(inside) });
    }
    const key = ({ mode, name }: TreeEntry) => utf8(mode === "40000" ? `${name}/` : `${name}`);
    return this.tree(entries.toSorted((a, b) => compareBytes(key(a), key(b))));
  }

  /** Adds a commit. */
  commit(tree: string, { parents = [], message = "Start\n" }: {
    readonly parents?: readonly string[];
    readonly message?: string;
  } = {}): string {
    const lines = [`tree ${tree}`, ...parents.map((id) => `parent ${id}`)];
    return this.add(
      "commit",
      [...lines, `author ${AUTHOR}`, `committer ${AUTHOR}`, "", message].join("\n"),
    );
  }

  /** The pack of all objects but those named. */
  pack(without: readonly string[] = []): Uint8Array<ArrayBuffer> {
    const kept = [...this.objects].filter(([id]) => !without.includes(id));
    const head = new Uint8Array(12);
    head.set(utf8("PACK"));
    const view = new DataView(head.buffer);
    view.setUint32(4, 2);
    view.setUint32(8, kept.length);
    const body = concatBytes(
      head,
      ...kept.flatMap(([, { type, bytes }]) => [
        lengthOf(TYPES[type], bytes.length),
        new Uint8Array(deflateSync(bytes, { level: 1 })),
      ]),
    );
    return concatBytes(body, new Uint8Array(createHash("sha1").update(body).digest()));
  }
}

/** The pack with one object more: `times` copies of an object of it, said in a few bytes for each copy. */
export function withCopies(
  pack: Uint8Array,
  { of, length, times }: {
    /** Id of the object that is copied, of at most 16 MiB. */
    readonly of: string;
    readonly length: number;
    readonly times: number;
  },
): Uint8Array<ArrayBuffer> {
  const size = [0, 8, 16].map((shift) => length >> shift & 0xff);
  const delta = new Uint8Array([
    ...numberOf(length),
    ...numberOf(length * times),
    ...Array.from({ length: times }, () => [0xf0, ...size]).flat(),
  ]);
  const body = concatBytes(
    pack.subarray(0, -20),
    lengthOf(REF_DELTA, delta.length),
    Uint8Array.fromHex(of),
    new Uint8Array(deflateSync(delta)),
  );
  const count = new DataView(body.buffer);
  count.setUint32(8, count.getUint32(8) + 1);
  return concatBytes(body, new Uint8Array(createHash("sha1").update(body).digest()));
}

const REF_DELTA = 7;

/** A number as a delta has it, the lowest bits first. */
function numberOf(value: number): number[] {
  const bytes = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push(rest % 128 | 0x80);
  return [...bytes, rest];
}

/** Type and length before an object of a pack. */
function lengthOf(type: number, length: number): Uint8Array {
  const bytes = [];
  let byte = type << 4 | length & 0x0f;
  for (let rest = Math.floor(length / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes.push(byte | 0x80);
    byte = rest % 128;
  }
  return new Uint8Array([...bytes, byte]);
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  for (let at = 0; at < Math.min(a.length, b.length); at++) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Writes a pack into a directory as the change from one commit to a tree. */
export async function packedChange(
  dir: string,
  { start, tree, pack }: {
    readonly start: string;
    readonly tree: string;
    readonly pack: Uint8Array;
  },
): Promise<PackedChange> {
  const path = join(dir, `${crypto.randomUUID()}.pack`);
  await Deno.writeFile(path, pack);
  return { pack: path, start, tree };
}

/** The change from some files to others, with all objects of both. */
export async function changeOf(
  dir: string,
  before: FileSpecs,
  after: FileSpecs,
): Promise<PackedChange> {
  const builder = new PackBuilder();
  const start = builder.commit(builder.files(before));
  return await packedChange(dir, { start, tree: builder.files(after), pack: builder.pack() });
}
