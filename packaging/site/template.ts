/**
 * The frame of a page of the site: navigation, search and text, without inline styles or scripts.
 * Pure.
 *
 * @module
 */

export interface NavigationLink {
  readonly href: string;
  readonly title: string;
}

/** A heading of the navigation with its pages. */
export interface NavigationGroup {
  readonly title: string;
  readonly links: readonly (NavigationLink & { readonly isHere: boolean })[];
}

export interface PageParts {
  readonly title: string;
  readonly version: string;
  /** The way to the root of the site, such as `../`. */
  readonly root: string;
  /** HTML. */
  readonly body: string;
  readonly groups: readonly NavigationGroup[];
  readonly before: NavigationLink | undefined;
  readonly after: NavigationLink | undefined;
}

/** The HTML of a page. */
export function htmlPage(
  { title, version, root, body, groups, before, after }: PageParts,
): string {
  return `<!doctype html>
<html lang="en" data-root="${root}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)} · svc ${version}</title>
<link rel="stylesheet" href="${root}style.css">
<script defer src="${root}search-index.js"></script>
<script defer src="${root}search.js"></script>
</head>
<body>
<header>
<a class="home" href="${root}index.html">svc <span>${version}</span></a>
<search>
<input type="search" id="words" placeholder="Search" aria-label="Search the manual" autocomplete="off">
<ol id="hits" hidden></ol>
</search>
</header>
<main>
${body}<footer>
${neighbour("before", "←", before)}${neighbour("after", "→", after)}</footer>
</main>
<nav aria-label="Pages">
${groups.map(groupHtml).join("")}</nav>
</body>
</html>
`;
}

function groupHtml({ title, links }: NavigationGroup): string {
  const items = links.map(({ href, title, isHere }) =>
    `<li><a href="${href}"${isHere ? ' aria-current="page"' : ""}>${escapeHtml(title)}</a></li>\n`
  );
  const heading = title === "" ? "" : `<h2>${escapeHtml(title)}</h2>\n`;
  return `${heading}<ul>\n${items.join("")}</ul>\n`;
}

function neighbour(name: string, arrow: string, link: NavigationLink | undefined): string {
  if (link === undefined) return "";
  return `<a class="${name}" href="${link.href}">${arrow} ${escapeHtml(link.title)}</a>\n`;
}

/** A text as HTML. */
export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
