/**
 * `svc docs`: pages in the width of a terminal, sections, guesses, and the search.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { pageGroups, pagesInOrder, toPage } from "../../src/docs/manual.ts";
import { readPages } from "../../src/docs/pages.ts";
import { Search, stems } from "../../src/docs/search.ts";
import { pageLines } from "../../src/docs/terminal_page.ts";
import { runCli } from "../../src/cli/run.ts";
import { screen } from "../rigs/screen.ts";
import { cleanEnv, programTest } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";

const PAGES = await readPages();

async function svc(args: readonly string[], isTerminal = false) {
  const { io, text } = screen(isTerminal);
  const code = await runCli(["docs", ...args], io);
  return { code, out: text.out, err: text.err };
}

function shown(markdown: string, width = 40): string {
  const lines = pageLines(toPage("here", markdown).tokens, {
    width,
    isStyled: false,
    topic: "here",
  });
  return lines.map((line) => line.map(({ text }) => text).join("")).join("\n");
}

Deno.test("without a topic there is a line for each page, in 80 columns", async () => {
  const { code, out } = await svc([]);
  const lines = out.trimEnd().split("\n");
  equal(code, 0);
  equal(lines.length, Object.keys(PAGES).length); // the start page has none, and there is a heading
  deepEqual(lines.filter((line) => line.length > 80), []);
  const listed = JSON.parse((await svc(["-o", "json"])).out) as {
    topic: string;
    summary: string;
  }[];
  deepEqual(listed.map(({ topic }) => topic), lines.slice(1).map((line) => line.split(" ")[0]));
  for (const { topic, summary } of listed) { // also where only the beginning of a page is parsed
    equal(summary, toPage(topic, PAGES[topic] ?? "").summary);
    ok(summary !== "", topic);
  }
});

Deno.test("topics come in the order of the start page, others after them", () => {
  const texts = {
    README: "# D\n\n## One\n\n1. [b](b.md), [a](a.md#x)\n\n## Two\n\n[a](a.md), [d](d.md)",
    ...Object.fromEntries(["a", "b", "c", "d"].map((name) => [name, `# ${name}`])),
  };
  deepEqual(pagesInOrder(texts).map(({ topic }) => topic), ["b", "a", "d", "c"]);
  deepEqual(pageGroups(texts).map(({ title }) => title), ["One", "Two", "More"]);
});

Deno.test("every page fits 80 columns, code and single words aside, and drives no terminal", async () => {
  for (const topic of Object.keys(PAGES)) {
    const { code, out } = await svc([topic]);
    equal(code, 0, topic);
    const wide = out.split("\n").filter((line) => line.length > 80 && !line.startsWith("    "))
      .filter((line) => line.trim().includes(" "));
    deepEqual(wide, [], topic);
    ok(!out.includes("\x1b"), topic);
  }
});

Deno.test("headings and code are coloured on a terminal, in its width", async () => {
  const { out } = await svc(["install"], true);
  ok(out.startsWith("\x1b[1mInstall\x1b[0m\n"), out.slice(0, 80));
  ok(out.includes("\x1b[36m"));
});

Deno.test("paragraphs, lists, code, links and tables are set as text", () => {
  equal(
    shown(
      "# T\n\nOne *two* [three](here.md#x), [four](other.md#y), [other.md](other.md), <https://a.b> and [c](https://d.e).\n\n" +
        "- first item that is longer than a line of it\n  1. inner\n\n```sh\nsvc get   task  # as it stands, however long\n```\n\n" +
        "| a | b |\n|---|---|\n| x | some text of several words that wraps |\n",
    ),
    `T

  One two three, four (svc docs
  other#y), svc docs other, https://a.b
  and c <https://d.e>.

  - first item that is longer than a
    line of it
    1. inner

    svc get   task  # as it stands, however long

  a  b
  x  some text of several words that
     wraps`,
  );
});

Deno.test("a table that does not fit is a block for each row", () => {
  equal(
    shown(
      "| one | two | three | four |\n|---|---|---|---|\n| aaaaaaaaaaaa | bbbbbbbbbbbb | cccccccccccc | d |\n",
    ),
    "  aaaaaaaaaaaa\n    two: bbbbbbbbbbbb\n    three: cccccccccccc\n    four: d",
  );
});

Deno.test("one section, by its anchor or its heading, as text and as Markdown", async () => {
  const { out } = await svc(["commands#exit-codes"]);
  match(out, /^Exit codes\n/);
  ok(!out.includes("svc init"));
  equal((await svc(["commands", "Exit", "codes"])).out, out);
  const json = JSON.parse((await svc(["commands#exit-codes", "-o", "json"])).out);
  match(json.text, /^## Exit codes\n\n\| code[^#]*\n$/);
  equal(json.anchor, "exit-codes");
});

for (
  const [args, said] of [
    [["delivries"], 'No page "delivries": did you mean "deliveries"?'],
    [["zzzz"], 'No page "zzzz": svc docs lists the topics'],
    [["commands#exit-kode"], "did you mean exit-codes"],
    [["--search", "xyzzyplugh"], 'Nothing in the docs about "xyzzyplugh"'],
  ] as const
) {
  Deno.test(`svc docs ${args.join(" ")} says what was meant, exit 4`, async () => {
    const { code, err } = await svc(args);
    equal(code, 4);
    ok(err.includes(said), err);
  });
}

Deno.test("--search names sections with the commands that print them, and these work", async () => {
  const { code, out } = await svc(["--search", "rotate", "a", "secret"]);
  equal(code, 0);
  const commands = [...out.matchAll(/^ {2}svc docs (\S+)$/gm)].map(([, topic = ""]) => topic);
  ok(commands.length > 2, out);
  for (const topic of commands) equal((await svc([topic])).code, 0, topic);
  const hits = JSON.parse((await svc(["--search", "rotate a secret", "-o", "json"])).out);
  equal(hits.length, commands.length);
});

Deno.test("forms of one word are one word", () => {
  for (
    const forms of [
      "rotate rotating rotation rotates rotated",
      "fire fired fires firing",
      "key keys",
      "move moved moving",
      "delivery deliveries",
      "trigger triggers triggered",
      "upgrade upgrading upgrades",
    ]
  ) equal(new Set(stems(forms)).size, 1, `${forms}: ${stems(forms)}`);
});

Deno.test("headings weigh more than text, rare words more than common ones, questions most", () => {
  const entry = (heading: string, text: string, questions: string[] = []) => ({
    topic: "t",
    page: "P",
    anchor: heading,
    heading,
    questions,
    text: [text],
  });
  const search = new Search([
    entry("Leave", "alpha"),
    entry("Other", "you leave alpha and alpha"),
    entry("Third", "alpha beta"),
    entry("Fourth", "alpha", ["How do I go away?"]),
  ]);
  const found = (words: string) => search.find(words).map((hit) => hit.entry.heading);
  deepEqual(found("leave"), ["Leave", "Other"]);
  equal(found("alpha beta")[0], "Third");
  deepEqual(found("how do I go away"), ["Fourth"]);
  deepEqual(found("nothing of it"), []);
});

programTest("the program has its pages with it, and needs no data directory", async (program) => {
  await using temp = await tempDir();
  const run = (...args: string[]) =>
    new Deno.Command(program.command, {
      args: [...program.args, ...args],
      cwd: temp.path,
      clearEnv: true,
      env: cleanEnv({ SVC_DATA_DIR: `${temp.path}/none` }),
    }).output();
  const { code, stdout, stderr } = await run("docs", "commands#exit-codes");
  deepEqual([code, new TextDecoder().decode(stderr)], [0, ""]);
  equal(new TextDecoder().decode(stdout), (await svc(["commands#exit-codes"])).out);
  equal((await run("docs", "--search", "exit codes")).code, 0);
});
