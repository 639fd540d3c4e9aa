/**
 * What holds in every file of the page: everything shown is text of a stranger, nothing is kept where
 * another port could read it, and of the program only types and pure files are used.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok } from "node:assert/strict";
import { dirname, join, normalize } from "node:path";
import { ROOT } from "../helpers/program.ts";

/** Files of the program that the page runs itself: they touch nothing outside of them. */
const PURE = [
  "src/api/agent_words.ts",
  "src/api/key_use.ts",
  "src/api/node_states.ts",
  "src/api/pause_text.ts",
  "src/api/patch_text.ts",
  "src/base/roles.ts",
  "src/api/sandbox_words.ts",
  "src/base/control_characters.ts",
  "src/base/defined.ts",
  "src/base/duration.ts",
  "src/base/output_text.ts",
  "src/base/size.ts",
  "src/console/pages.ts",
  "src/platforms/event_header.ts",
  "src/resources/kind_names.ts",
];

/** What must not be written, and why. */
const FORBIDDEN: readonly {
  readonly pattern: RegExp;
  readonly because: string;
  /** The only file that may. */
  readonly but?: string;
}[] = [
  {
    pattern:
      /dangerouslySetInnerHTML|\b(inner|outer)HTML\b|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|srcdoc/i,
    because: "text would become markup",
  },
  { pattern: /\beval\(|new Function\b|setTimeout\(["'`]/, because: "text would become a program" },
  {
    pattern: /\blocalStorage\b|\bdocument\.cookie\b|\bindexedDB\b/,
    because: "it outlives the tab",
  },
  { pattern: /https?:\/\/(?!www\.w3\.org\/)/, because: "nothing is loaded from elsewhere" },
  {
    // Link makes them of parts that it escapes; a skip link stays on the page.
    pattern: /\b(href|src|action|formaction)=(\{(?!address\})|"(?![#/]))/i,
    because: "an address may be a program: use Link",
  },
  {
    pattern: /\bwindow\.open\b|location\s*=|location\.(href|assign|replace)\b/,
    because: "use go",
    but: "console/page/data/login.ts",
  },
];

/** One file of the page. */
interface PageFile {
  readonly path: string;
  readonly text: string;
  readonly code: string;
}

const FILES = [...readFiles("console/page")];

function* readFiles(folder: string): Generator<PageFile> {
  for (const { name, isDirectory } of [...Deno.readDirSync(join(ROOT, folder))]) {
    const path = `${folder}/${name}`;
    if (isDirectory) yield* readFiles(path);
    else if (/\.tsx?$/.test(name)) {
      const text = Deno.readTextFileSync(join(ROOT, path));
      yield { path, text, code: text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "") };
    }
  }
}

function faults(files: readonly Pick<PageFile, "path" | "code">[]): string[] {
  return files.flatMap(({ path, code }) =>
    FORBIDDEN.flatMap(({ pattern, because, but }) => {
      const found = but === path ? undefined : pattern.exec(code)?.[0];
      return found === undefined ? [] : [`${path} has ${found}: ${because}`];
    })
  );
}

Deno.test("the page shows text as text, keeps nothing, and goes nowhere", () => {
  ok(FILES.length > 10, "it looks into the page");
  deepEqual(faults(FILES), []);
});

Deno.test("these rules find what they forbid", () => {
  const codes = [
    "<p dangerouslySetInnerHTML={{ __html: x }} />",
    "element.innerHTML = text",
    'localStorage.setItem("key", key)',
    "<a href={item.url}>",
    '<a href="javascript:x">',
    'fetch("https://elsewhere.example/")',
    "location.href = text",
  ];
  for (const code of codes) ok(faults([{ path: "x.tsx", code }]).length > 0, code);
});

Deno.test("of the program, the page uses types and a few pure files", () => {
  const wrong = FILES.flatMap(({ path, code }) =>
    [...code.matchAll(/^import (type )?[^;]*?from "(\.[^"]*)";$/gm)].flatMap(
      ([, type, to = ""]) => {
        const file = normalize(join(dirname(path), to));
        if (file.startsWith("console/page/")) return [];
        if (PURE.includes(file)) return [];
        return type !== undefined && file.startsWith("src/api/") ? [] : [`${path} uses ${file}`];
      },
    )
  );
  deepEqual(wrong, []);
});

Deno.test("the program does not use the page", () => {
  const uses = [...readFiles("src")].filter(({ code }) => /from "[^"]*console\/page\//.test(code));
  deepEqual(uses.map(({ path }) => path), []);
});

Deno.test("files of the page open with what they hold, and none is too long", () => {
  const silent = FILES.filter(({ text }) => !/^\/\*\*\n[\s\S]*? \* @module\n \*\/\n/.test(text));
  deepEqual(silent.map(({ path }) => path), []);
  deepEqual(FILES.filter(({ text }) => text.split("\n").length > 401).map(({ path }) => path), []);
  const undocumented = FILES.flatMap(({ path, text }) =>
    [...text.matchAll(/(?<!\*\/)\n(export (?!default\b).*)/g)].map(([, line]) => `${path}: ${line}`)
  );
  deepEqual(undocumented, []);
});
