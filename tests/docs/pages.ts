/**
 * The pages of the documentation as the checks read them: links, headings, blocks of code and code in
 * lines, each with the line it stands in.
 *
 * @module
 */

import { basename, dirname, join } from "node:path";
import { headingsOf, hrefOf, type MarkdownToken, parseMarkdown } from "../../src/docs/markdown.ts";
import { ROOT } from "../helpers/program.ts";

/** Something of a page, and the line it stands in, from 1. */
export interface Placed {
  readonly line: number;
  readonly text: string;
}

/** A fenced block. */
export interface Block extends Placed {
  /** Its language; empty where it says none. */
  readonly language: string;
}

/** One page. */
export interface CheckedPage {
  /** From the root of the project. */
  readonly path: string;
  readonly text: string;
  readonly anchors: ReadonlySet<string>;
  readonly titles: readonly string[];
  readonly links: readonly Placed[];
  readonly blocks: readonly Block[];
  /** Code within lines. */
  readonly codes: readonly Placed[];
  /** What is no code, line by line. */
  readonly prose: readonly Placed[];
}

/** A page by its path. */
export function readPage(path: string): CheckedPage {
  const text = Deno.readTextFileSync(join(ROOT, path));
  const tokens = parseMarkdown(text);
  const headings = headingsOf(tokens);
  let line = 1;
  const inline = tokens.flatMap(({ type, map, children }) => {
    line = map === null ? line : map[0] + 1; // a cell has none, but its row
    return type === "inline" ? [{ line, children: children ?? [] }] : [];
  });
  const pick = (of: (child: MarkdownToken) => readonly string[]) =>
    inline.flatMap(({ line, children }) =>
      children.flatMap((child) => of(child).map((said) => ({ line, text: said })))
    );
  return {
    path,
    text,
    anchors: new Set(headings.map(({ anchor }) => anchor)),
    titles: headings.map(({ title }) => title),
    links: pick((child) => {
      if (child.type === "image") return [String(child.attrGet("src") ?? "")];
      return child.type === "link_open" ? [hrefOf(child)] : [];
    }),
    blocks: tokens.filter(({ type }) => type === "fence").map(({ info, content, map }) => ({
      line: (map?.[0] ?? 0) + 1,
      language: info.trim(),
      text: content,
    })),
    codes: pick(({ type, content }) => type === "code_inline" ? [content] : []),
    prose: inline.map(({ line, children }) => ({
      line,
      text: children.map((child) => child.type === "text" ? child.content : " ").join(""),
    })),
  };
}

/** Markdown files below a folder, from the root of the project. */
export function markdownIn(folder: string, isDeep: boolean): string[] {
  return [...Deno.readDirSync(join(ROOT, folder))].flatMap(({ name, isDirectory }) => {
    const path = join(folder, name);
    if (isDirectory) return isDeep ? markdownIn(path, isDeep) : [];
    return name.endsWith(".md") ? [path] : [];
  }).toSorted();
}

/** The pages for users: README, and what stands in `docs/` itself. */
export const USER_PAGES: readonly CheckedPage[] = ["README.md", ...markdownIn("docs", false)]
  .map(readPage);

/** Every page that people read. */
export const ALL_PAGES: readonly CheckedPage[] = [
  "README.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "CHANGELOG.md",
  "src/README.md",
  ...markdownIn("docs", true),
  ...markdownIn("integrations", true),
].map(readPage);

/** The pages of users, and the guides of the packages. */
export const GUIDES: readonly CheckedPage[] = [
  ...USER_PAGES,
  ...markdownIn("integrations", true).map(readPage),
];

/** Where a finding is, as an editor opens it. */
export function place({ path }: CheckedPage, line: number): string {
  return `${path}:${line}`;
}

/** Path from the root that a link of a page leads to. */
export function targetOf(page: CheckedPage, path: string): string {
  return path === "" ? page.path : join(dirname(page.path), path);
}

/** The name of a page's file. */
export function nameOf({ path }: CheckedPage): string {
  return basename(path);
}
