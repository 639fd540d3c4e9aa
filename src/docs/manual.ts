/**
 * The manual as a whole: its topics in the order of the start page, the sections of a page, and what
 * the search looks through. Pure.
 *
 * @module
 */

import {
  type Heading,
  headingsOf,
  linksIn,
  type MarkdownToken,
  parseMarkdown,
  plainText,
  topicOf,
} from "./markdown.ts";
import { type PageTexts, START } from "./pages.ts";
import type { SearchEntry } from "./search.ts";

/** A page of the manual, taken apart. */
export interface Page {
  /** Name of its file without `.md`. */
  readonly topic: string;
  readonly title: string;
  /** The first sentence below the title. */
  readonly summary: string;
  /** As it is written. */
  readonly text: string;
  readonly tokens: readonly MarkdownToken[];
  readonly headings: readonly Heading[];
}

/** A page of this text. */
export function toPage(topic: string, text: string): Page {
  const tokens = parseMarkdown(text);
  const headings = headingsOf(tokens);
  const at = tokens.findIndex(({ type, level }) => type === "paragraph_open" && level === 0);
  const [summary = ""] = /^.*?[.:?](?= |$)/.exec(plainText(tokens[at + 1])) ?? [];
  const title = headings[0]?.title ?? topic;
  return { topic, title, summary: summary.replace(/:$/, "."), text, tokens, headings };
}

/** Pages that belong together, under a heading of the start page. */
export interface PageGroup {
  readonly title: string;
  readonly pages: readonly Page[];
}

/** Every page but the start page, in the order in which that names them, under its headings. */
export function pageGroups(texts: PageTexts): readonly PageGroup[] {
  const groups: { title: string; topics: string[] }[] = [];
  const left = new Set(Object.keys(texts).filter((topic) => topic !== START));
  const add = (topic: string) => {
    if (left.delete(topic)) groups.at(-1)?.topics.push(topic);
  };
  const { tokens } = toPage(START, texts[START] ?? "");
  for (const [at, token] of tokens.entries()) {
    if (token.type === "heading_open") {
      groups.push({ title: plainText(tokens[at + 1]), topics: [] });
    }
    for (const { href } of linksIn(token)) add(topicOf(href)?.topic ?? "");
  }
  groups.push({ title: "More", topics: [] });
  left.forEach(add);
  return groups.filter(({ topics }) => topics.length > 0).map(({ title, topics }) => (
    { title, pages: topics.map((topic) => toPage(topic, texts[topic] ?? "")) }
  ));
}

/** Every page but the start page, in its order. */
export function pagesInOrder(texts: PageTexts): readonly Page[] {
  return pageGroups(texts).flatMap(({ pages }) => pages);
}

/** The blocks below a heading, itself and the sections within it included. */
export function sectionTokens(
  { tokens, headings }: Pick<Page, "tokens" | "headings">,
  { at, level }: Heading,
): readonly MarkdownToken[] {
  const next = headings.find((other) => other.at > at && other.level <= level);
  return tokens.slice(at, next?.at);
}

/** The Markdown of a section. */
export function sectionText(page: Page, heading: Heading): string {
  const tokens = sectionTokens(page, heading);
  const from = tokens[0]?.map?.[0] ?? 0;
  const next = page.tokens[heading.at + tokens.length];
  return `${page.text.split("\n").slice(from, next?.map?.[0]).join("\n").trimEnd()}\n`;
}

/**
 * What the search looks through: each section of each page, with the texts of the links that lead to
 * it. A question on the start page counts as one for the section that it names.
 */
export function searchEntries(texts: PageTexts): readonly SearchEntry[] {
  const pages = pagesInOrder(texts);
  const links = questionsByTarget(toPage(START, texts[START] ?? ""));
  return pages.flatMap((page) =>
    page.headings.map((heading, index): SearchEntry => {
      const end = page.headings[index + 1]?.at;
      const anchor = index === 0 ? "" : heading.anchor;
      return {
        topic: page.topic,
        page: page.title,
        anchor,
        heading: heading.title,
        questions: links.get(anchor === "" ? page.topic : `${page.topic}#${anchor}`) ?? [],
        text: page.tokens.slice(heading.at + 3, end).flatMap(linesOf),
      };
    })
  );
}

/** Text of a block, a line for each cell, item or paragraph. */
function linesOf(token: MarkdownToken): string[] {
  if (token.type === "inline") return [plainText(token)];
  return token.type === "fence" ? token.content.trimEnd().split("\n") : [];
}

/** The lines and table rows of the start page by where their links lead. */
function questionsByTarget({ tokens }: Page): ReadonlyMap<string, readonly string[]> {
  const questions = new Map<string, string[]>();
  let row: MarkdownToken[] = [];
  for (const token of tokens) {
    if (token.type === "tr_open" || token.type === "paragraph_open") row = [];
    if (token.type !== "inline") continue;
    row.push(token);
    for (const { href } of linksIn(token)) {
      const to = topicOf(href);
      if (to === undefined) continue;
      const target = to.topic + to.section;
      const known = questions.get(target) ?? [];
      questions.set(target, [...known, row.map(plainText).join(" ")]);
    }
  }
  return questions;
}
