/**
 * The pages of the manual, each by its topic, which is its file's name: the files `docs/*.md` of the
 * sources, or the packed file in a compiled program.
 *
 * @module
 */

import { join } from "node:path";

/** Text of each page by its topic, such as `deliveries`. */
export type PageTexts = Readonly<Record<string, string>>;

/** The topic of the page that begins the manual, and says the order of the others. */
export const START = "README";

/** Name of the packed file beside the bundled program; `packaging/bundle.ts` writes it. */
export const PACKED = "docs.json.br";

/** The texts of all pages, from the files or from the packed file. */
export async function readPages(): Promise<PageTexts> {
  const here = import.meta.dirname ?? ".";
  if (!Deno.build.standalone) return await readFolder(join(here, "../../docs"));
  const packed = await Deno.readFile(join(here, PACKED));
  const text = new Blob([packed]).stream().pipeThrough(
    new DecompressionStream("brotli" as CompressionFormat),
  );
  return await new Response(text).json();
}

/** The pages in a folder, which are its Markdown files. */
export async function readFolder(folder: string): Promise<PageTexts> {
  const names = [...Deno.readDirSync(folder)].map(({ name }) => name)
    .filter((name) => name.endsWith(".md")).toSorted();
  return Object.fromEntries(
    await Promise.all(
      names.map(async (name) =>
        [name.slice(0, -".md".length), await Deno.readTextFile(join(folder, name))] as const
      ),
    ),
  );
}
