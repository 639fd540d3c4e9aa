/**
 * Bundles the page and writes it into `src/console/embedded.ts`, so that the program has it with it.
 * `.ci/page` calls this when the page has changed.
 *
 * @module
 */

import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the page. */
export const PAGE = fileURLToPath(new URL("page", import.meta.url));

/** Where it goes, from the root of the project. */
export const EMBEDDED = "src/console/embedded.ts";

const HEAD = `/**
 * The page of \`console/page\`, bundled and packed. Made by \`.ci/page\`: change it there, never here.
 *
 * @module
 */
// deno-fmt-ignore-file

/** A file of the page. */
export interface EmbeddedFile {
  /** Media type. */
  readonly type: string;
  /** Its bytes, packed with gzip, in base64. */
  readonly gzip: string;
}

/** Every file of the page, by its name. */
export const EMBEDDED: Readonly<Record<string, EmbeddedFile>> = {
`;

const TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

/** Media type of a file of the page, by its name. */
export function mediaType(name: string): string {
  return TYPES[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream";
}

/** Files of `styles/`, in the order in which a later one may change what an earlier one says. */
const STYLES = ["frame", "parts", "deliveries", "task", "log", "figures", "narrow"];

/** The look of the page, as one file. */
export async function style(): Promise<string> {
  const paths = STYLES.map((name) => join(PAGE, "styles", `${name}.css`));
  return (await Promise.all(paths.map((path) => Deno.readTextFile(path)))).join("\n");
}

/** What `deno` is called with to bundle the page into a directory. */
export function bundleArguments(directory: string): string[] {
  return [
    "bundle",
    "--quiet",
    "--platform",
    "browser",
    "--code-splitting",
    "--outdir",
    directory,
    join(PAGE, "app.tsx"),
  ];
}

/**
 * Writes the files of the page into a directory.
 *
 * @param deno the program that bundles; another version makes other bytes.
 */
export async function bundle(deno: string, directory: string): Promise<void> {
  const { success, stderr } = await new Deno.Command(deno, {
    args: [...bundleArguments(directory), "--minify"],
    env: { NO_COLOR: "1" },
  }).output();
  if (!success) throw new Error(`The page cannot be bundled: ${new TextDecoder().decode(stderr)}`);
  for (const name of ["index.html", "icon.svg"]) {
    await Deno.copyFile(join(PAGE, name), join(directory, name));
  }
  await Deno.writeTextFile(join(directory, "style.css"), await style());
}

/** The text of {@linkcode EMBEDDED} for the files in a directory, with what it was made from. */
export async function embed(directory: string, stamp: string): Promise<string> {
  const names = [...Deno.readDirSync(directory)].map(({ name }) => name).toSorted();
  const lines = await Promise.all(names.map(async (name) => {
    const packed = await pack(Deno.readFileSync(join(directory, name)));
    const file = JSON.stringify({ type: mediaType(name), gzip: packed.toBase64() });
    return `  ${JSON.stringify(basename(name))}: ${file},\n`;
  }));
  return `${HEAD}${lines.join("")}};\n// Made from ${stamp}\n`;
}

async function pack(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const packed = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"));
  return await new Response(packed).bytes();
}

if (import.meta.main) {
  const directory = await Deno.makeTempDir();
  try {
    await bundle(Deno.execPath(), directory);
    const text = await embed(directory, Deno.args[0] ?? "");
    await Deno.writeTextFile(join(PAGE, "../..", EMBEDDED), text);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}
