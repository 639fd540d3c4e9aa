/**
 * Writes the packages beside this file into `src/integrations/embedded.ts`, so that the compiled
 * program has them with it. `make embed`; a test finds it out when that was forgotten.
 *
 * @module
 */

import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** Where it goes, from the root of the project. */
export const EMBEDDED = "src/integrations/embedded.ts";

const HEAD = `/**
 * The files of \`integrations/\` as text. Made by \`make embed\`: change them there, never here.
 *
 * @module
 */
// deno-fmt-ignore-file

/** Text of every file of every package, by its path below \`integrations/\`. */
export const EMBEDDED_FILES: Readonly<Record<string, string>> = {
`;

/** The text of {@linkcode EMBEDDED} for the packages as they are now. */
export function embed(): string {
  const paths = packageFiles("").toSorted();
  const lines = paths.map((path) => `  ${JSON.stringify(path)}: ${JSON.stringify(read(path))},\n`);
  return `${HEAD}${lines.join("")}};\n`;
}

/** Files of packages; what stands beside them belongs to the repository. */
function packageFiles(folder: string): string[] {
  return [...Deno.readDirSync(join(ROOT, "integrations", folder))].flatMap((entry) => {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory) return packageFiles(path);
    return folder === "" ? [] : [path];
  });
}

function read(path: string): string {
  const bytes = Deno.readFileSync(join(ROOT, "integrations", path));
  return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
}

if (import.meta.main) Deno.writeTextFileSync(join(ROOT, EMBEDDED), embed());
