/**
 * Text of an agent in a comment: whatever is in it, it mentions no person, loads nothing, has no HTML
 * and commands no bot. A Markdown parser, which the program does not use for this, is the judge.
 *
 * @module
 */

import { ok, strictEqual as equal } from "node:assert/strict";
import MarkdownIt from "markdown-it";
import { asCode, MAX_TEXT, safeMarkdown } from "../../src/outbox/safe_markdown.ts";

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
    ok(!/^\s*\/approve\s*$/m.test(safe), JSON.stringify(text));
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
