/**
 * The one door to the Markdown parser, for the terminal, the search and the site: blocks of a page, its
 * headings with the anchors that GitHub gives them, and the plain text of what stands in a line. Pure.
 *
 * @module
 */

import type { Token } from "markdown-it";

/** A block, or something in a line, as the parser gives it. */
export type MarkdownToken = Token;

// Loaded so that it has a chunk of its own, which loses the names that none of ours needs.
const { default: MarkdownIt } = await import("markdown-it");

// What looks like HTML is text: the pages have none, and nothing of it may reach a browser.
const MARKDOWN = new MarkdownIt({ html: false, linkify: false });

/** The blocks of a page in their order, what opens and what closes one as a token each. */
export function parseMarkdown(text: string): readonly MarkdownToken[] {
  return MARKDOWN.parse(text, {});
}

/** The plain text of what stands in a line: of links their text, of code its content. */
export function plainText(token: MarkdownToken | undefined): string {
  return (token?.children ?? []).map((child) =>
    child.type === "softbreak" || child.type === "hardbreak" ? " " : child.content
  ).join("");
}

/** A heading of a page. */
export interface Heading {
  /** 1 for the title of the page. */
  readonly level: number;
  readonly title: string;
  /** As GitHub makes it of the title; the second of a title ends in -1. */
  readonly anchor: string;
  /** Its index among the tokens of the page. */
  readonly at: number;
}

/** Every heading of a page. */
export function headingsOf(tokens: readonly MarkdownToken[]): readonly Heading[] {
  const anchors = new Map<string, number>();
  return tokens.flatMap((token, at) => {
    if (token.type !== "heading_open") return [];
    const title = plainText(tokens[at + 1]);
    const slug = slugOf(title);
    const before = anchors.get(slug) ?? 0;
    anchors.set(slug, before + 1);
    const anchor = before === 0 ? slug : `${slug}-${before}`;
    return [{ level: Number(token.tag.slice(1)), title, anchor, at }];
  });
}

/** The anchor that GitHub makes of a title. */
export function slugOf(title: string): string {
  return title.trim().toLowerCase().replace(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, "").replaceAll(
    " ",
    "-",
  );
}

/** Where a link of a page leads. */
export interface PageLink {
  /** As it is written, such as `deliveries.md#duplicates`. */
  readonly href: string;
  readonly text: string;
}

/** The links in one line. */
export function linksIn(token: MarkdownToken): readonly PageLink[] {
  const children = token.children ?? [];
  return children.flatMap((child, at) => {
    if (child.type !== "link_open") return [];
    const end = children.findIndex((one, index) => index > at && one.type === "link_close");
    const text = children.slice(at + 1, end).map(({ content }) => content).join("");
    return [{ href: hrefOf(child), text }];
  });
}

/** Where what opens a link leads. */
export function hrefOf(token: MarkdownToken): string {
  return String(token.attrGet("href") ?? "");
}

/** The page of the manual that a link of another one leads to, and `#section`; empty for no section. */
export function topicOf(href: string): { topic: string; section: string } | undefined {
  const [, topic, section = ""] = /^([\w-]+)\.md(#.*)?$/.exec(href) ?? [];
  return topic === undefined ? undefined : { topic, section };
}

/** The HTML of these blocks; a heading with an id has a link to itself. */
export function toHtml(tokens: readonly MarkdownToken[]): string {
  return MARKDOWN.renderer.render([...tokens], MARKDOWN.options, {});
}

MARKDOWN.renderer.rules["heading_close"] = (tokens, at) => {
  const { tag = "" } = tokens[at] ?? {};
  const id = tokens[at - 2]?.attrGet("id");
  const anchor = typeof id === "string"
    ? `<a class="anchor" href="#${id}" aria-label="Link to this section">#</a>`
    : "";
  return `${anchor}</${tag}>\n`;
};
