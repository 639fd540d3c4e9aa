/**
 * What lies in a directory after each change that some work makes there: the states in which a kill
 * leaves it.
 *
 * @module
 */

/** Every call by which a program changes what lies in a directory, but SQLite's. */
const CHANGES = ["writeTextFile", "link", "rename", "mkdir", "remove", "open"] as const;

/** Calls `onChange` after each change that `work` makes, which fails where `onChange` does. */
export async function afterEachChange(
  onChange: () => Promise<void>,
  work: () => Promise<unknown>,
): Promise<void> {
  const real = Deno as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
  const kept = CHANGES.map((name) => [name, real[name]] as const);
  for (const [name, call] of kept) {
    real[name] = async (...args) => {
      const result = await call?.apply(Deno, args);
      await onChange().catch((error) => {
        if (name === "open") (result as Deno.FsFile).close();
        throw error;
      });
      return result;
    };
  }
  try {
    await work();
  } finally {
    for (const [name, call] of kept) if (call !== undefined) real[name] = call;
  }
}
