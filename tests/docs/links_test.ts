/**
 * Every link of the documentation leads somewhere, to a file and to a heading in it.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok } from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../helpers/program.ts";
import { ALL_PAGES, type CheckedPage, place, readPage, targetOf } from "./pages.ts";

const read = new Map<string, CheckedPage>(ALL_PAGES.map((page) => [page.path, page]));

function faultOf(page: CheckedPage, href: string): string | undefined {
  const [path = "", anchor] = decodeURI(href).split("#");
  if (path.startsWith("../security")) return undefined; // GitHub itself answers below the repository
  const target = targetOf(page, path).replace(/\/$/, "");
  if (!existsSync(join(ROOT, target))) return `${href} leads to no file`;
  if (anchor === undefined || !target.endsWith(".md")) return undefined;
  const there = read.get(target) ?? readPage(target);
  read.set(target, there);
  return there.anchors.has(anchor) ? undefined : `${href} leads to no heading of ${target}`;
}

Deno.test("every link in the documentation leads to a file, and to a heading in it", () => {
  const links = ALL_PAGES.flatMap((page) => page.links.map((link) => ({ page, link })))
    .filter(({ link }) => !/^[a-z]+:/.test(link.text));
  ok(links.length > 300, `${links.length} links`);
  const wrong = links.flatMap(({ page, link }) => {
    const fault = faultOf(page, link.text);
    return fault === undefined ? [] : [`${place(page, link.line)}: ${fault}`];
  });
  deepEqual(wrong, []);
});
