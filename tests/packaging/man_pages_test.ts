/**
 * The manual pages say what the help says, of every command, and are sound roff.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { LINKS, manPages, roffText } from "../../packaging/man_pages.ts";
import { SHORT_NAMES } from "../../src/cli/command_words.ts";
import { LISTED } from "../../src/cli/commands/commands.ts";
import { helpParts, helpText } from "../../src/cli/help.ts";
import { run } from "../helpers/program.ts";
import { missing, skippable } from "../helpers/requirements.ts";
import { tempDir } from "../helpers/temp_dir.ts";

const PAGES = await manPages("2026-01-31");

/** What a line of roff shows. */
function shown(line: string): string {
  const named: Record<string, string> = { rs: "\\", aq: "'", dq: '"', ga: "`", ha: "^", ti: "~" };
  return line.replace(
    /\\(?:f[BIR]|&|-|\((..)|\[u([0-9A-F]+)\])/g,
    (all, name: string | undefined, code: string | undefined) => {
      if (name !== undefined) return named[name] ?? all;
      if (code !== undefined) return String.fromCodePoint(parseInt(code, 16));
      return all === "\\-" ? "-" : "";
    },
  );
}

/** The lines of a page between a heading and the next one of its kind. */
function part(page: string, heading: string): string[] {
  const lines = page.split("\n");
  const from = lines.indexOf(heading);
  ok(from >= 0, heading);
  const to = lines.findIndex((line, at) => at > from && line.startsWith(heading.slice(0, 3)));
  return lines.slice(from + 1, to === -1 ? undefined : to);
}

Deno.test("every command has its help in the page of its first word", async () => {
  for (const { words, load } of LISTED) {
    const { command } = await load();
    const [first = ""] = words.split(" ");
    const page = PAGES.get(`svc-${first}.1`) ?? "";
    const group = LISTED.filter((one) => one.words.split(" ")[0] === first).length > 1;
    const lines = (group ? part(page, `.SS "${roffText(`svc ${words}`)}"`) : page.split("\n"))
      .map(shown);
    const help = helpParts(words, command);
    const paragraphs = help.description.replaceAll("\n\n", "\n.PP\n");
    ok(`\n${lines.join("\n")}`.includes(`\n${paragraphs}\n`), `${words}: ${paragraphs}`);
    for (const [term, text] of [...help.arguments, ...help.options]) {
      const at = lines.indexOf(term.replace(/<(.*?)(\.*)>/, "$1$2"));
      deepEqual([lines[at - 1], lines[at + 1]], [".TP", text], `${words} ${term}`);
    }
    const from = lines.indexOf(".EX") + 1;
    deepEqual(lines.slice(from, lines.indexOf(".EE")), help.examples, words);
    ok(part(page, ".SH SYNOPSIS").map(shown).includes(help.usage.replace(/<(.*?)>/g, "$1")), words);
    const summary = part(PAGES.get("svc.1") ?? "", ".SH COMMANDS").map(shown);
    ok(summary.includes(`svc ${words}`), words);
  }
});

Deno.test("the parts of a help are what the terminal shows", async () => {
  for (const { words, load } of LISTED) {
    const { command } = await load();
    const text = helpText(words, command, 100).replace(/\s+/g, " ");
    const { usage, description, arguments: named, options, examples } = helpParts(words, command);
    const parts = [`Usage: ${usage}`, description, ...named.flat(), ...options.flat(), ...examples];
    for (const one of parts) ok(text.includes(one.replace(/\s+/g, " ")), `${words}: ${one}`);
  }
});

Deno.test("a page has its parts in order, is ASCII, and names pages that there are", () => {
  for (const [name, text] of PAGES) {
    match(text, /^\.TH [A-Z-]+ 1 "2026-01-31" "svc \d[\w.\\-]+" "svc manual"\n/, name);
    match(text, /^[\n\x20-\x7e]*[^\n]\n$/, `${name} is ASCII, and ends in one line's end`);
    const headings = [...text.matchAll(/^\.SH (.*)$/gm)].map(([, heading]) => heading)
      .filter((heading) => !["ARGUMENTS", "OPTIONS"].includes(heading ?? "")).join(", ");
    match(headings, /^NAME, SYNOPSIS(, DESCRIPTION)?(, COMMANDS)?(, EXAMPLES)?, SEE ALSO$/, name);
    match(shown(part(text, ".SH NAME")[0] ?? ""), /^svc[a-z, -]* - \S/, name);
    for (const [line] of text.matchAll(/^[.'].*$/gm)) {
      match(line, /^\.(TH|SH|SS|TP|PP|br|BR|EX|EE)( |$)/, name);
    }
    for (const [, page = ""] of text.matchAll(/^\.BR (\S+) \(1\)/gm)) {
      ok(PAGES.has(`${shown(page)}.1`), `${name} names ${page}`);
    }
  }
});

Deno.test("svcd and the short names of commands have the page of what they stand for", () => {
  equal(LINKS.get("svcd.1"), "svc-daemon.1");
  for (const [name, [word]] of Object.entries(SHORT_NAMES)) {
    equal(LINKS.get(`svc-${name}.1`), `svc-${word}.1`);
  }
  for (const [name, target] of LINKS) {
    const named = shown(part(PAGES.get(target) ?? "", ".SH NAME")[0] ?? "");
    ok(named.includes(`, ${name.replace(/\.1$/, "")} - `), named);
  }
});

for (
  const [text, set] of [
    [".TH is a macro", "\\&.TH is a macro"],
    ["'br is one, too", "\\(aqbr is one, too"],
    ["--flag\\n", "\\-\\-flag\\(rsn"],
    ['say "1h, …" `~/x^`', "say \\(dq1h, \\[u2026]\\(dq \\(ga\\(ti/x\\(ha\\(ga"],
    ["over\n  lines", "over lines"],
    ["🦕", "\\[u1F995]"],
  ] as const
) {
  Deno.test(`roff shows ${JSON.stringify(text)} as it is`, () => equal(roffText(text), set));
}

/** Runs a program on the files of all pages. */
async function onPages(program: string, args: readonly string[]): Promise<void> {
  await using temp = await tempDir();
  for (const [name, text] of PAGES) await temp.write(name, text);
  const { code, stdout, stderr } = await run(program, [...args, ...PAGES.keys()], {
    cwd: temp.path,
  });
  deepEqual([code, stdout, stderr], [0, "", ""]);
}

Deno.test({
  ...skippable("mandoc finds nothing wrong with a page", missing("mandoc")),
  fn: () => onPages("mandoc", ["-T", "lint", "-W", "warning"]),
});

Deno.test({
  ...skippable("groff finds nothing wrong with a page", missing("groff")),
  fn: () => onPages("groff", ["-man", "-T", "utf8", "-ww", "-z"]),
});
