/**
 * Writes the pages of `docs/` as a static site, which opens by a double click: `dist/site`, or the
 * folder that `--out` names. Links that leave `docs/` lead to the repository (`--repository URL`) at the
 * tag of this version. `make site`.
 *
 * @module
 */

import { existsSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { defined } from "../../src/base/defined.ts";
import { VERSION } from "../../src/base/version.ts";
import { type Page, pageGroups, searchEntries, toPage } from "../../src/docs/manual.ts";
import { type MarkdownToken, toHtml } from "../../src/docs/markdown.ts";
import { readFolder, START } from "../../src/docs/pages.ts";
import { htmlPage, type NavigationGroup } from "./template.ts";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const DOCS = join(HERE, "../../docs");
/**
 * The address of the project, with the placeholder of docs/install.md; the release sets the owner.
 */
const REPOSITORY = "https://github.com/OWNER/svc";
/** Folders of pages for developers of svc. */
const CONTRIBUTORS = ["design", "decisions"];

/** A page, and its path from the root of the site. */
interface SitePage {
  readonly page: Page;
  /** From `docs/`, such as `design/security.md`. */
  readonly source: string;
  readonly file: string;
}

export interface SiteOptions {
  readonly out: string;
  readonly repository?: string;
}

/** Writes the site into a new folder, which replaces an old one. */
export async function writeSite({ out, repository = REPOSITORY }: SiteOptions): Promise<void> {
  await Deno.remove(out, { recursive: true }).catch(() => {});
  await Deno.mkdir(out, { recursive: true });
  const texts = await readFolder(DOCS);
  const start = sitePage(toPage(START, texts[START] ?? ""), "");
  const parts = pageGroups(texts).map(({ title, pages }) =>
    [title, pages.map((page) => sitePage(page, ""))] as const
  );
  const manual = [start, ...parts.flatMap(([, pages]) => pages)];
  const others = await Promise.all(CONTRIBUTORS.map(async (folder) => {
    const found = await readFolder(join(DOCS, folder));
    return Object.entries(found).map(([name, text]) => sitePage(toPage(name, text), folder));
  }));
  const pages = [...manual, ...others.flat()];
  const groups = [["", [start]], ...parts, ["Contribute", others.flat()]] as const;
  const pictures = new Set<string>();
  for (const [at, one] of pages.entries()) {
    const target = (href: string) => linkFrom(one, href, { pages, repository, pictures });
    const tokens = linked(one.page, target);
    await write(
      join(out, one.file),
      htmlPage({
        title: one.page.title,
        version: VERSION,
        root: "../".repeat(one.file.split("/").length - 1),
        body: toHtml(tokens),
        groups: groups.map((group) => navigation(group, one)),
        before: link(one, manual[at - 1]),
        after: link(one, manual[at + 1]),
      }),
    );
  }
  for (const picture of pictures) {
    await Deno.mkdir(dirname(join(out, picture)), { recursive: true });
    await Deno.copyFile(join(DOCS, picture), join(out, picture));
  }
  await Deno.copyFile(join(HERE, "style.css"), join(out, "style.css"));
  // A script element loads the index, because a page opened from a file cannot use `fetch`.
  const index = JSON.stringify(searchEntries(texts)).replaceAll("<", "\\u003c");
  await write(join(out, "search-index.js"), `globalThis.SVC_DOCS = ${index};\n`);
  await bundleSearch(join(out, "search.js"));
}

function sitePage(page: Page, folder: string): SitePage {
  const source = join(folder, `${page.topic}.md`);
  const name = page.topic === START ? "index" : page.topic;
  return { page, source, file: join(folder, `${name}.html`) };
}

function navigation(
  [title, pages]: readonly [string, readonly SitePage[]],
  from: SitePage,
): NavigationGroup {
  return {
    title,
    links: pages.flatMap((one) => {
      const to = link(from, one);
      return to === undefined ? [] : [{ href: to.href, title: to.title, isHere: one === from }];
    }),
  };
}

function link(from: SitePage, to: SitePage | undefined) {
  if (to === undefined) return undefined;
  return { href: relative(dirname(from.file), to.file), title: to.page.title };
}

/** The blocks of a page, with anchors at headings and with links that work on the site. */
function linked(page: Page, target: (href: string) => string): readonly MarkdownToken[] {
  for (const { at, anchor } of page.headings) page.tokens[at]?.attrSet("id", anchor);
  for (const child of page.tokens.flatMap(({ children }) => children ?? [])) {
    const name = { link_open: "href", image: "src" }[child.type];
    if (name !== undefined) child.attrSet(name, target(String(child.attrGet(name) ?? "")));
  }
  return page.tokens;
}

/** The target of a link from a page of the site; pictures are also added to the files to copy. */
function linkFrom(
  { source, file }: SitePage,
  href: string,
  { pages, repository, pictures }: {
    readonly pages: readonly SitePage[];
    readonly repository: string;
    readonly pictures: Set<string>;
  },
): string {
  if (/^([a-z]+:|#)/.test(href)) return href;
  const [path = "", anchor] = href.split("#");
  const hash = anchor === undefined ? "" : `#${anchor}`;
  const wanted = join(dirname(source), path).replace(/\/$/, "");
  const page = pages.find((one) => one.source === wanted || one.source === `${wanted}/${START}.md`);
  if (page !== undefined) return `${relative(dirname(file), page.file)}${hash}`;
  if (/\.(png|svg)$/.test(wanted) && !wanted.startsWith("..")) {
    pictures.add(wanted);
    return relative(dirname(file), wanted);
  }
  if (!existsSync(join(DOCS, wanted))) throw new Error(`docs/${source}: ${href} leads nowhere`);
  const kind = Deno.statSync(join(DOCS, wanted)).isDirectory ? "tree" : "blob";
  return `${repository}/${kind}/v${VERSION}/${join("docs", wanted)}${hash}`;
}

async function bundleSearch(path: string): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "bundle",
      "--quiet",
      "--platform",
      "browser",
      "--format",
      "iife",
      "--minify",
      "--output",
      path,
      join(HERE, "search_box.js"),
    ],
    env: { NO_COLOR: "1" },
  }).output();
  if (!success) {
    throw new Error(`The search cannot be bundled: ${new TextDecoder().decode(stderr)}`);
  }
}

async function write(path: string, text: string): Promise<void> {
  await Deno.mkdir(dirname(path), { recursive: true });
  await Deno.writeTextFile(path, text);
}

if (import.meta.main) {
  const { values } = parseArgs({
    args: Deno.args,
    options: { out: { type: "string" }, repository: { type: "string" } },
  });
  const out = values.out ?? join(HERE, "../../dist/site");
  const { repository } = values;
  await writeSite({ out, ...defined({ repository }) });
  console.log(join(out, "index.html"));
}
