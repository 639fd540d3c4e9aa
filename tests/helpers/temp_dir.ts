/**
 * Temporary directories that are removed with the test; their paths are short enough for a socket
 * in them.
 *
 * @module
 */

/** A socket's path may have 107 bytes; what svc puts behind the directory needs this much of it. */
const LONGEST_TMPDIR = 60;

/** A directory that is removed when it is disposed. */
export interface TempDir extends AsyncDisposable {
  /** Absolute path. */
  readonly path: string;
  /** Writes a file in it; gives its path. */
  write(name: string, content: string | Uint8Array): Promise<string>;
}

/** Makes an empty directory. */
export async function tempDir(): Promise<TempDir> {
  const own = Deno.env.get("TMPDIR") ?? "/tmp";
  const dir = own.length <= LONGEST_TMPDIR ? own : "/tmp";
  const path = await Deno.makeTempDir({ dir, prefix: "svc-test-" });
  return {
    path,
    async write(name, content) {
      const file = `${path}/${name}`;
      if (typeof content === "string") await Deno.writeTextFile(file, content);
      else await Deno.writeFile(file, content);
      return file;
    },
    async [Symbol.asyncDispose]() {
      await Deno.remove(path, { recursive: true });
    },
  };
}
