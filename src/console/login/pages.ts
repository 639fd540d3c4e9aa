/**
 * What a browser shows while somebody logs in: a few lines of HTML without code. Everything in
 * them may be a stranger's.
 *
 * @module
 */

const MARKS: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** A text in HTML. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (mark) => MARKS[mark] ?? "");
}

/** What a page says: a title, sentences, a line to copy, and links. */
export interface LoginPage {
  readonly status: number;
  readonly title: string;
  readonly text: readonly string[];
  /** A line to copy. */
  readonly code?: string;
  readonly links: readonly (readonly [to: string, words: string])[];
}

/** The answer that shows a page. */
export function pageResponse({ status, title, text, code, links }: LoginPage): Response {
  const lines = [
    "<!doctype html>",
    '<html lang="en">',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width">',
    '<meta name="color-scheme" content="light dark">',
    '<link rel="icon" href="/icon.svg">',
    `<title>${escaped(title)} · svc console</title>`,
    '<link rel="stylesheet" href="/style.css">',
    '<main class="center">',
    `<h1>${escaped(title)}</h1>`,
    ...text.map((one) => `<p>${escaped(one)}</p>`),
    ...code === undefined ? [] : [`<pre>${escaped(code)}</pre>`],
    ...links.map(([to, words]) => `<p><a href="${escaped(to)}">${escaped(words)}</a></p>`),
    "</main>",
  ];
  const headers = { "content-type": "text/html; charset=utf-8" };
  return new Response(`${lines.join("\n")}\n`, { status, headers });
}
