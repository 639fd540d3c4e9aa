/**
 * The Workers of `svc`: the `#names` among the imports of `deno.json`. They are started by name, because
 * a path relative to the source is wrong in a bundle.
 *
 * @module
 */

/** The Workers by name, each with its entry point from the root of the project. */
export async function readWorkers(): Promise<readonly (readonly [name: string, path: string])[]> {
  const { imports } = JSON.parse(await Deno.readTextFile("deno.json")) as {
    readonly imports: Readonly<Record<string, string>>;
  };
  return Object.entries(imports).filter(([name]) => name.startsWith("#"));
}
