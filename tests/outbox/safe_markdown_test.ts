/**
 * Text of an agent in a comment: whatever is in it, it mentions no person, loads nothing, has no HTML
 * and commands no bot. A Markdown parser, which the program does not use for this, is the judge.
 *
 * @module
 */

import { doesNotMatch, match, ok, strictEqual as equal } from "node:assert/strict";
import MarkdownIt from "markdown-it";
import {
  asCode,
  MAX_TEXT,
  safeMarkdown,
  safeTitle,
  withoutEffects,
} from "../../src/outbox/safe_markdown.ts";

const Z = "\u200b";

/** What is written, and what becomes of it. */
const CASES: readonly (readonly [name: string, text: string, safe: string])[] = [
  ["plain text", "Looks good.\n\n- one\n- *two*", "Looks good.\n\n- one\n- *two*"],
  ["mentions", "hi @octocat, a@b.c, @ nobody", `hi @${Z}octocat, a@${Z}b.c, @ nobody`],
  ["a command to dependabot", "@dependabot merge", `@${Z}dependabot merge`],
  ["a mention in entities", "&#64;a &#x40;b &commat;c", `&${Z}#64;a &${Z}#x40;b &${Z}commat;c`],
  ["a query, which is no entity", "http://x/?a=1&b=2", "http://x/?a=1&b=2"],
  ["an image", "![x](https://evil/?s=1) ![a][b]", `!${Z}[x](https://evil/?s=1) !${Z}[a][b]`],
  [
    "HTML",
    "<img src=x> </a> <!-- y --> <?z a < b",
    `<${Z}img src=x> <${Z}/a> <${Z}!-- y --> <${Z}?z a < b`,
  ],
  ["the end of a comment of HTML", "x --> y", "x --> y"],
  ["a marker like ours", "<!-- svc 01 review ff -->", `<${Z}!-- svc 01 review ff -->`],
  ["a slash command", "/approve\n  /lgtm cancel\na /b", "\\/approve\n  \\/lgtm cancel\na /b"],
  ["code", "a\n```ts\n@x <b> /c\n```\n@y", `a\n\`\`\`ts\n@x <b> /c\n\`\`\`\n@${Z}y`],
  [
    "a slash command in code, which bots read, too",
    "```\n/approve\n /lgtm cancel\n/usr/bin/x\n/* c\n```",
    `\`\`\`\n${Z}/approve\n ${Z}/lgtm cancel\n/usr/bin/x\n/* c\n\`\`\``,
  ],
  ["code in tildes", "~~~\n```\n@x\n~~~", "````\n```\n@x\n````"],
  ["half a fence", "```\n@x\n/y", `\\\`\\\`\\\`\n@${Z}x\n\\/y`],
  ["a fence that another character would close", "```\n@x\n~~~", `\\\`\\\`\\\`\n@${Z}x\n\\~\\~\\~`],
  [
    "a fence that a shorter one would close",
    "````\n@x\n```",
    `\\\`\\\`\\\`\\\`\n@${Z}x\n\\\`\\\`\\\``,
  ],
  [
    "a fence in a list, which ends with the list",
    "1. a\n   ```\n@x\n   ```",
    `1. a\n   \\\`\\\`\\\`\n@${Z}x\n   \\\`\\\`\\\``,
  ],
  ["a fence whose line has more", "``` a`b\n@x\n```", `\\\`\\\`\\\` a\`b\n@${Z}x\n\\\`\\\`\\\``],
  ["a drawing", "```mermaid\ngraph\n```", "```\ngraph\n```"],
  [
    "drawings in lists, quotations and footnotes",
    "- ```mermaid\n> ~~~mermaid\n1. > ```math\n[^1]: ````stl\n- [ ] ```mermaid",
    "- \\`\\`\\`mermaid\n> \\~\\~\\~mermaid\n1. > \\`\\`\\`math\n" +
    "[^1]: \\`\\`\\`\\`stl\n- [ ] \\`\\`\\`mermaid",
  ],
  ["a drawing whose fence begins with marks that are not seen", "- `\u0000``stl", "- \\`\\`\\`stl"],
  [
    "a slash command behind what ends a line for the pattern of a bot only",
    "a\u2028/approve\n```\nb\u2029/lgtm\n```",
    `a\n\\/approve\n\`\`\`\nb\n${Z}/lgtm\n\`\`\``,
  ],
  [
    "slash commands within a code span, a title and a table",
    "`a\n/approve`\n[x](y 't\n/approve')\n| a\n|-\n/approve",
    "`a\n\\/approve`\n[x](y 't\n\\/approve')\n| a\n|-\n\\/approve",
  ],
  [
    "a slash command behind and among characters of no width",
    "\u200b/merge\n\ufeff /approve\n\u2060\u200d/close\n\u00ad/\u00adlock\n//x",
    "\u200b\\/merge\n\ufeff \\/approve\n\u2060\u200d\\/close\n\u00ad\\/\u00adlock\n//x",
  ],
  ["a line break in an entity", "x&#10;/approve", `x&${Z}#10;/approve`],
  ["an escaped mention and image", "\\@a !\\[b] \\![c](d)", `\\@${Z}a !\\[b] \\!${Z}[c](d)`],
  [
    "an autolink, and HTML that only GitHub takes for it",
    "<https://x> <svg/onload=x>",
    `<${Z}https://x> <${Z}svg/onload=x>`,
  ],
  [
    "an image in a definition, and one in a link",
    "[a]: x\n![a]\n[![b](c)](d)",
    `[a]: x\n!${Z}[a]\n[!${Z}[b](c)](d)`,
  ],
  [
    "references, tasks, alerts and tables stay",
    "fixes #1, o/r#2\n- [ ] a\n- [x] b\n> [!NOTE]\n> c\n\n| a | b |\n|---|:-:|\n| `c` | **d** |",
    "fixes #1, o/r#2\n- [ ] a\n- [x] b\n> [!NOTE]\n> c\n\n| a | b |\n|---|:-:|\n| `c` | **d** |",
  ],
  ["other ends of lines", "a\r```\r@x\r\n```\rb", "a\n```\n@x\n```\nb"],
  ["what a terminal obeys, and the mark of Arabic", "a\u009bb\u061cc", "abc"],
  ["what turns a line around", "a\u202eb\u2066c\u0000d\u001b[31m", "abcd[31m"],
];

for (const [name, text, safe] of CASES) {
  Deno.test(`harmless: ${name}`, () => equal(safeMarkdown(text), safe));
}

/** What GitLab takes for a command in a line, at the beginning or behind what only looks like it. */
const QUICK_ACTION = /^\s*\/[a-z][\w-]*(?:\s|$)/i;

/** The lines of a text as it is stored; GitLab takes away each `\r` before it looks for commands. */
const rawLines = (text: string) => text.replaceAll("\r", "").split(/[\n\u2028\u2029]/);

/** Texts with a quick action, wherever GitLab may look for one. */
const QUICK_ACTIONS: Readonly<Record<string, string>> = {
  "alone": "/merge",
  "with an argument": '/assign @ada\n/label ~bug ~"needs review"\n/remove_due_date',
  "in capitals": "/MERGE",
  "behind a space": "x\n /merge",
  "behind a tab": "\t/merge",
  "as an indented block of code": "x\n\n    /merge\n",
  "in a list": "- /merge\n  /approve\n* x\n/close\n1. /merge",
  "in a quotation": "> /merge\n/approve",
  "in a quotation of several lines": ">>>\n/merge\n>>>",
  "in a quotation of several lines without an end": ">>>\n/merge",
  "behind a comment of HTML": "<!-- x -->\n/merge\n<!-- y --> \n\n/approve",
  "in a comment of HTML": "<!--\n/merge\n-->",
  "in HTML": "<details>\n/merge\n</details>\n<p>\n\n/approve\n\n</p>",
  "behind svc's own marker": "<!-- svc 01 review ff -->\n/merge",
  "in a block of code": "\`\`\`\n/merge\n\`\`\`",
  "in a block of code with a language": "\`\`\`sh\n/merge\n  /approve now\n\`\`\`",
  "in a block of code without an end": "\`\`\`\n/merge",
  "in a block of code with a longer fence": "\`\`\`\`\n\`\`\`\n/merge\n\`\`\`\n\`\`\`\`",
  "in a block of code with another fence": "~~~\n/merge\n~~~\n/approve",
  "behind the end of a block of code": "\`\`\`\nx\n\`\`\`\n/merge",
  "in a code span of several lines": "\`\n/merge\n\`",
  "in a formula": "$$\n/merge\n$$",
  "in a table": "| a |\n|-|\n/merge",
  "in front matter": "---\n/merge\n---\nx",
  "in a definition": "[a]:\n/merge\n[^1]: x\n/approve",
  "behind a backslash at the end of a line": "x\\\n/merge",
  "behind other ends of lines": "a\r\n/merge\r\nb\r/approve\u2028/close\u2029/lock",
  "behind what ends a line in other languages": "a\v/merge\nb\f/approve\nc\u0085/close",
  "behind characters of no width": "\u200b/merge\n\ufeff/approve\n\u2060\u200d/close",
  "with a character of no width within": "/\u200bmerge\n\u00ad/\u00adapprove",
  "behind controls": "\u0000/merge\n\u001b/approve\n\u202e/close",
  "in entities": "&#47;merge\n&sol;approve\n&#x2f;close",
  "before a space that is none in ASCII": "/merge\u00a0x\n/approve\u3000",
};

for (const [where, text] of Object.entries(QUICK_ACTIONS)) {
  Deno.test(`GitLab finds no quick action ${where}`, () => {
    for (const safe of [safeMarkdown(text), asCode(text), safeMarkdown(`x\n${text}\ny`)]) {
      for (const line of rawLines(safe)) ok(!QUICK_ACTION.test(line), JSON.stringify(safe));
    }
    doesNotMatch(safeMarkdown(text), /&(#47|#x2f|sol);/, "no entity becomes a slash");
  });
}

Deno.test("GitLab draws nothing that may load things, and includes no file", () => {
  for (
    const language of ["mermaid", "plantuml", "kroki", "dot", "vega", "D2", "glql", "json:table"]
  ) {
    const [first] = safeMarkdown(`\`\`\`${language}\nx\n\`\`\``).split("\n");
    equal(first, language === "kroki" ? "\`\`\`kroki" : "\`\`\`", language);
  }
  equal(safeMarkdown("::include{file=https://evil/?x}"), `:${Z}:include{file=https://evil/?x}`);
});

/** The pattern by which GitLab closes issues, with the forms of their names. */
const GITLAB_CLOSING = new RegExp(
  "\\b(?:[Cc]los(?:e[sd]?|ing)|[Ff]ix(?:e[sd]|ing)?|[Rr]esolv(?:e[sd]?|ing)|" +
    "[Ii]mplement(?:s|ed|ing)?):? +(?:issues? +)?(?:[\\w./-]*#\\d+|GL-\\d+|\\[(?:issue|work_item):|" +
    "https?://|[A-Z][A-Z0-9_]+-\\d+)",
);

Deno.test("no text of a stranger closes an issue at GitLab", () => {
  for (
    const text of [
      "Closes #1",
      "closing issues #1, #2 and #3",
      "Fixing: tidepool#7",
      "Implements brightwater/harbour/tidepool#7",
      "implement issue https://gitlab.example.com/a/b/-/issues/7",
      "Resolving GL-7",
      "Fixed [issue:7]",
      "Closes [work_item:a/b/7]",
      "Fix ABC-12",
    ]
  ) {
    match(text, GITLAB_CLOSING, "the pattern finds it");
    doesNotMatch(withoutEffects(safeMarkdown(text)), GITLAB_CLOSING, text);
    doesNotMatch(safeTitle(text, 255), GITLAB_CLOSING, text);
  }
  for (const text of ["Fix the C# client", "implement it", "fix utf-8", "Closes the door"]) {
    equal(withoutEffects(text), text, "nothing is named");
  }
});

Deno.test("no text of a stranger keeps GitLab from testing a commit", () => {
  for (const text of ["[ci skip]", "[skip ci]", "[CI-SKIP]", "[skip_ci]", "[ci_skip]"]) {
    doesNotMatch(withoutEffects(text), /\[(ci[ _-]skip|skip[ _-]ci)\]/i);
  }
});

Deno.test("a text that is too long is cut, with its code closed, and says so", () => {
  for (const unit of ["@a ", "x".repeat(99) + "\n", "😀", "<b>![", "```\n@x\n```\n"]) {
    const text = safeMarkdown(unit.repeat(Math.ceil(1024 * 1024 / unit.length)));
    ok(text.length <= MAX_TEXT, `${text.length}`);
    ok(text.length > MAX_TEXT - 300, `${text.length}`);
    ok(text.endsWith("\n\n… (cut)"));
    equal(text.isWellFormed(), true, "no half character");
  }
  const code = safeMarkdown("```js\n" + "y\n".repeat(100_000) + "```\n@x");
  ok(code.startsWith("```js\ny\n") && code.endsWith("y\n```\n\n… (cut)"), code.slice(-40));
  ok(code.length <= MAX_TEXT);
});

Deno.test("a path in code that is cut does not become a command", () => {
  for (let before = 64_900; before < 65_000; before++) {
    const text = safeMarkdown(
      "```\n" + "y".repeat(before) + "\n/approve/x" + "\nz".repeat(200) + "\n```",
    );
    ok(!/^\s*\/\w+$/m.test(text), text.slice(-60));
    ok(text.length <= MAX_TEXT, `${text.length}`);
  }
});

Deno.test("each line is read once, however many fences are opened and not closed", () => {
  const text = `${"``````````x\n".repeat(87_000)}\`\`\``;
  ok(safeMarkdown(text).length <= MAX_TEXT);
});

/** What random texts are made of. */
const PIECES = [
  "```",
  "~~~",
  "````mermaid",
  "~~~math",
  "``",
  "`",
  "~",
  "- ",
  "> ",
  "1. ",
  "[^1]: ",
  "- [ ] ",
  "    ",
  " ",
  "\t",
  "\n",
  "\n",
  "\n\n",
  "\r",
  "\v",
  "\u2028",
  "\\",
  "|",
  "|-|\n",
  "a",
  "graph TD",
  "\u200b",
  "@a",
  "@",
  "![",
  "!",
  "[b]",
  "[b]: c",
  "(d)",
  "<i",
  "<!--",
  "-->",
  "<",
  ">",
  "&#64;",
  "&",
  "/approve",
  "/merge",
  ">>>",
  "::include",
  "\ufeff",
  "$$",
];

/** As GitHub's parser: HTML counts, and addresses without a mark are links. */
const MARKDOWN = new MarkdownIt({ html: true, linkify: true });

/** All tokens of a text, those within a line too. */
const tokensOf = (text: string) =>
  MARKDOWN.parse(text, {}).flatMap((token) => [token, ...token.children ?? []]);

Deno.test("whatever a text is, what is made of it is harmless to a parser and to bots", () => {
  let seed = 1;
  const random = () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  for (let n = 0; n < 10_000; n++) {
    const text = Array.from(
      { length: 1 + Math.floor(random() * 25) },
      () => PIECES[Math.floor(random() * PIECES.length)],
    ).join("");
    const safe = safeMarkdown(text);
    let open = "";
    let code = 0;
    for (const line of safe.split("\n")) {
      const [, fence = "", language = ""] = /^(`{3,})([\w+#.-]*)$/.exec(line) ?? [];
      if (open === "" && fence !== "") {
        open = fence;
        code++;
        ok(!["mermaid", "math"].includes(language), JSON.stringify(text));
      } else if (line === open) open = "";
      else {ok(
          open !== "" || !/`{3}|~{3}|@[^\s\u200b]|!\[|<[a-z/!?]|&#/i.test(line),
          JSON.stringify(text),
        );}
    }
    equal(open, "", JSON.stringify(text));
    for (const line of rawLines(safe)) ok(!QUICK_ACTION.test(line), JSON.stringify(text));
    const tokens = tokensOf(safe);
    equal(tokens.filter(({ type }) => type === "fence").length, code, JSON.stringify(text));
    for (const { type, content } of tokens) {
      ok(!["html_block", "html_inline", "image"].includes(type), JSON.stringify(text));
      ok(type !== "text" || !/@[^\s\u200b]/.test(content), JSON.stringify(text));
    }
  }
});

Deno.test("as code, nothing in a text ends the block", () => {
  equal(asCode("a\n```\n@x"), "````\na\n```\n@x\n````");
  ok(asCode("`".repeat(200_000)).length <= MAX_TEXT);
});
