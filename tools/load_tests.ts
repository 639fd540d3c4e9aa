/**
 * Loads every test file of `tests/` and `src/`, for `deno test` with a filter that no test passes. One
 * module that imports them all shares what they import; `deno test` would load that again for each.
 *
 * @module
 */

const ROOT = new URL("../", import.meta.url);

const failed: string[] = [];
for (const folder of ["tests/", "src/"]) await load(folder);
if (failed.length > 0) throw new Error(failed.join("\n"));

async function load(path: string): Promise<void> {
  const entries = [...Deno.readDirSync(new URL(path, ROOT))];
  for (const { name, isDirectory } of entries.sort((a, b) => a.name < b.name ? -1 : 1)) {
    if (isDirectory) await load(`${path}${name}/`);
    if (!name.endsWith("_test.ts")) continue;
    try {
      await import(new URL(path + name, ROOT).href);
    } catch (error) {
      const reason = error instanceof Error ? error.stack ?? error.message : String(error);
      failed.push(`${path}${name} cannot be loaded: ${reason}`);
    }
  }
}
