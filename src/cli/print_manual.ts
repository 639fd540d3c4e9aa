/**
 * Prints the manual: its topics, a page or a section, or what a search finds.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import { findMeant, findNearest } from "../base/similar_names.ts";
import {
  type Page,
  pagesInOrder,
  searchEntries,
  sectionText,
  sectionTokens,
  toPage,
} from "../docs/manual.ts";
import { type Heading, slugOf } from "../docs/markdown.ts";
import { type PageTexts, readPages, START } from "../docs/pages.ts";
import { Search, type SearchHit } from "../docs/search.ts";
import { pageLines } from "../docs/terminal_page.ts";
import { type Piece, wrap } from "../docs/wrapped_lines.ts";
import { type Io, isColoured } from "./io.ts";
import { jsonText } from "./json_text.ts";
import { formatTable } from "./table.ts";
import { styled } from "./terminal_text.ts";

/** Width of the text where there is no terminal, in columns. */
const WIDTH = 80;
/** Most columns of a line: wider lines are hard to read. */
const WIDEST = 100;

/** What of the manual is asked for. */
interface Request {
  /** Topic, with a section behind `#` if it names one; empty for the list of topics. */
  readonly topic: string;
  /** Heading of a section, or a part of it; empty for the whole page. */
  readonly section: string;
  /** Words to search for; empty for no search. */
  readonly search: string;
  readonly isJson: boolean;
}

/**
 * Prints the list of topics, a page, a section of it, or what was found.
 *
 * @throws {AppError} `usage` or `not_found`.
 */
export async function printManual(request: Request, io: Io): Promise<void> {
  const { isJson, search: words } = request;
  const texts = await readPages();
  const [asked = "", anchor = ""] = request.topic.split("#");
  if (words.trim() !== "") {
    if (asked !== "") throw new AppError("usage", "--search looks through all topics: name none");
    return printHits(new Search(searchEntries(texts)).find(words), words, { io, isJson });
  }
  if (asked === "") return await printTopics(pagesInOrder(openingsOf(texts)), io, isJson);
  const page = pageNamed(texts, asked);
  const section = [anchor, request.section].join(" ").trim();
  const heading = section === "" ? undefined : headingNamed(page, section);
  if (!isJson) return printPage(page, heading, io);
  const text = heading === undefined ? page.text : sectionText(page, heading);
  const { topic, title } = page;
  io.out(jsonText({ topic, title: heading?.title ?? title, ...anchorOf(heading), text }));
}

function anchorOf(heading: Heading | undefined): { anchor?: string } {
  return heading === undefined ? {} : { anchor: heading.anchor };
}

/**
 * The pages up to their first section, in which their titles and summaries are: parsing all of them
 * takes four times as long as all else. The start page stays whole, because it says their order.
 */
function openingsOf(texts: PageTexts): PageTexts {
  const entries = Object.entries(texts).map(([topic, text]) =>
    [topic, topic === START ? text : text.split("\n## ", 1)[0] ?? ""] as const
  );
  return Object.fromEntries(entries);
}

async function printTopics(pages: readonly Page[], io: Io, isJson: boolean): Promise<void> {
  if (isJson) {
    return io.out(
      jsonText(pages.map(({ topic, title, summary }) => ({ topic, title, summary }))),
    );
  }
  const columns = [
    { header: "TOPIC", wide: false },
    { header: "ABOUT", wide: false, fit: "text" } as const,
  ];
  const rows = pages.map(({ topic, title, summary }) => [topic, aboutText(topic, title, summary)]);
  io.out(await formatTable(columns, rows, io.columns ?? WIDTH));
  if (io.outIsTerminal) {
    io.err("\nsvc docs TOPIC prints one, svc docs --search WORDS finds sections\n");
  }
}

/** The first sentence of a page, after its title if that is more than the topic. */
function aboutText(topic: string, title: string, summary: string): string {
  const isSame = slugOf(title).replace(/^the-/, "") === topic;
  return isSame ? summary : `${title}. ${summary}`;
}

function printPage(page: Page, heading: Heading | undefined, io: Io): void {
  const tokens = heading === undefined ? page.tokens : sectionTokens(page, heading);
  const isStyled = isColoured(io);
  const width = Math.min(io.columns ?? WIDTH, WIDEST);
  printLines(pageLines(tokens, { width, isStyled, topic: page.topic }), io);
}

function printHits(
  hits: readonly SearchHit[],
  words: string,
  { io, isJson }: { io: Io; isJson: boolean },
): void {
  if (isJson) {
    return io.out(jsonText(hits.map(({ entry, score, excerpt }) => {
      const { topic, anchor, page, heading } = entry;
      return { topic, ...anchor === "" ? {} : { anchor }, page, heading, score, excerpt };
    })));
  }
  if (hits.length === 0) {
    throw new AppError(
      "not_found",
      `Nothing in the docs about "${words}": svc docs lists the topics`,
    );
  }
  const width = Math.min(io.columns ?? WIDTH, WIDEST);
  printLines(hits.flatMap(({ entry, excerpt }) => hitLines(entry, excerpt, width)), io);
}

function hitLines(
  { topic, anchor, page, heading }: SearchHit["entry"],
  excerpt: string,
  width: number,
): (readonly Piece[])[] {
  const title = anchor === "" || heading === page ? page : `${page}: ${heading}`;
  const [line = [], ...more] = wrap([{ text: excerpt }], width - 5);
  return [
    [{ text: title, look: "strong" }],
    ...line.length === 0
      ? []
      : [[{ text: "  " }, ...line, ...more.length === 0 ? [] : [{ text: " …" }]]],
    [{ text: "  " }, {
      text: `svc docs ${topic}${anchor === "" ? "" : `#${anchor}`}`,
      look: "code",
    }],
    [],
  ];
}

function printLines(lines: readonly (readonly Piece[])[], io: Io): void {
  const isStyled = isColoured(io);
  for (const line of lines) {
    io.out(isStyled ? styled(line) : line.map(({ text }) => text).join(""));
    io.out("\n");
  }
}

function pageNamed(texts: PageTexts, asked: string): Page {
  const name = asked.replace(/\.md$/, "");
  const topics = Object.keys(texts);
  const topic = topics.find((one) => one.toLowerCase() === name.toLowerCase());
  if (topic !== undefined) return toPage(topic, texts[topic] ?? "");
  const near = findMeant(name, topics.filter((one) => one !== START));
  const next = near === undefined ? "svc docs lists the topics" : `did you mean "${near}"?`;
  throw new AppError("not_found", `No page "${asked}": ${next}`);
}

/** Finds a heading by its anchor or its text; else the first one that contains what was typed. */
function headingNamed({ topic, headings }: Page, typed: string): Heading {
  const slug = slugOf(typed);
  const found = headings.find(({ anchor }) => anchor === slug) ??
    headings.find(({ anchor }) => anchor.includes(slug));
  if (found !== undefined) return found;
  const near = findNearest(slug, headings.map(({ anchor }) => anchor), 3);
  throw new AppError(
    "not_found",
    `Page "${topic}" has no section "${typed}": did you mean ${near.join(", ")}?`,
  );
}
