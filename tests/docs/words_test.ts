/**
 * What the pages for users say: no word that has to be read twice, the glossary's terms, ports there
 * are, and examples of a kind that a test looks at.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { SETTINGS } from "../../src/daemon/settings.ts";
import { ROOT } from "../helpers/program.ts";
import { ALL_PAGES, GUIDES, nameOf, place, USER_PAGES } from "./pages.ts";

/** Each with a plainer way: who does it, or what it is. */
const BANNED = new RegExp(
  "\\b(" + [
    "nobody",
    "somebody",
    "none the less",
    "nonetheless",
    "the one",
    "the ones",
    "mend(s|ed|ing)?",
    "of its own accord",
    "with an end",
    "what is there",
    "and back again",
    "(is|are) (said|told|asked)",
    "but for",
    "whoever",
    "none of it",
    "no other than",
  ].join("|") + ")\\b",
  "i",
);

Deno.test("the pages for users have no banned word", () => {
  const wrong = USER_PAGES.filter(({ path }) => path !== "docs/commands.md").flatMap((page) =>
    page.prose.flatMap(({ line, text }) => {
      const [word] = BANNED.exec(text) ?? [];
      return word === undefined ? [] : [`${place(page, line)}: "${word}"`];
    })
  );
  deepEqual(wrong, []);
});

/** Languages of blocks, each with the test that looks at them; `undefined` where the page has its own. */
const LANGUAGES: Readonly<Record<string, string | undefined>> = {
  sh: "named_commands_test.ts",
  bash: "named_commands_test.ts",
  console: "named_commands_test.ts",
  yaml: "manifests_test.ts",
  json: "words_test.ts",
  text: "what a program prints",
  http: "what is sent",
  ini: undefined,
  nginx: undefined,
  haproxy: undefined,
  caddy: undefined,
  sql: undefined,
  cel: undefined,
};

/** The texts of all tests. */
const TESTS = [...testsIn(`${ROOT}/tests`)].map((path) => Deno.readTextFileSync(path));

function* testsIn(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    if (isDirectory) yield* testsIn(`${folder}/${name}`);
    else if (name.endsWith(".ts")) yield `${folder}/${name}`;
  }
}

Deno.test("every block of code says its language, and some test looks at it", () => {
  const wrong = GUIDES.flatMap((page) =>
    page.blocks.flatMap(({ line, language, text }) => {
      if (!Object.hasOwn(LANGUAGES, language)) return [`${place(page, line)}: "${language}"`];
      if (LANGUAGES[language] === undefined && !TESTS.some((one) => one.includes(nameOf(page)))) {
        return [`${place(page, line)}: no test names ${nameOf(page)}`];
      }
      return language === "json" && !isJson(text) ? [`${place(page, line)}: no JSON`] : [];
    })
  );
  deepEqual(wrong, []);
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Ports of examples: others' (PostgreSQL, OpenTelemetry, agents, proxies), and a console's. */
const EXAMPLES = [
  "80",
  "443",
  "5432",
  "6432",
  "4317",
  "4318",
  "8080",
  "8137",
  "8443",
  "9090",
  "3128",
  "4180",
];
/** The control plane over TLS has no default; the examples use one. */
const CONTROL = "19443";
const CONSOLE = "43817";

Deno.test("every port that the documentation names is one of svc's, or one of an example", () => {
  const own = SETTINGS.flatMap(({ fallback = "" }) => /:(\d+)$/.exec(String(fallback))?.[1] ?? []);
  const known = new Set([...own, ...EXAMPLES, CONTROL, CONSOLE]);
  const port =
    /(?:\d+\.\d+\.\d+\.\d+|localhost|\[::1?\]|HOST|(?<=[\s`(]|^)):(\d{2,5})\b|\b(19\d{3})\b/g;
  const wrong = GUIDES.flatMap((page) =>
    page.text.split("\n").flatMap((text, at) =>
      [...text.matchAll(port)].map(([, after, alone]) => after ?? alone ?? "")
        .filter((found) => !known.has(found)).map((found) => `${place(page, at + 1)}: ${found}`)
    )
  );
  deepEqual(wrong, []);
});

Deno.test("every term of the glossary is used on another page", () => {
  const glossary = USER_PAGES.find(({ path }) => path === "docs/glossary.md");
  const terms = glossary?.titles.slice(1) ?? [];
  const texts = USER_PAGES.filter((page) => page !== glossary)
    .map(({ text }) => text.toLowerCase().replace(/\s+/g, " "));
  const unused = terms.filter((term) => {
    const stem = term.toLowerCase().replace(/y$/, "");
    return !texts.some((text) => text.includes(stem));
  });
  deepEqual(unused, []);
});

Deno.test("every term that a page links is one of the glossary", () => {
  const glossary = ALL_PAGES.find(({ path }) => path === "docs/glossary.md");
  const wrong = ALL_PAGES.flatMap((page) =>
    page.links.flatMap(({ line, text }) => {
      const [, term] = /(?:^|\/)glossary\.md#(.+)$/.exec(text) ?? [];
      const isThere = term === undefined || glossary?.anchors.has(term) === true;
      return isThere ? [] : [`${place(page, line)}: the glossary has no "${term}"`];
    })
  );
  deepEqual(wrong, []);
});
