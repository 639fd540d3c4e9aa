/**
 * The site: every link in it leads somewhere in it, or to the repository at the tag; it asks nothing of
 * others; and its search works on a page that is opened from a file.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok } from "node:assert/strict";
import { existsSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { writeSite } from "../../packaging/site/site.ts";
import { VERSION } from "../../src/base/version.ts";
import { BROWSER, browserTest } from "../helpers/browser.ts";
import { cleanEnv } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { PATIENCE_MS } from "../helpers/until.ts";

const REPOSITORY = "https://git.example.com/us/svc";

function* filesIn(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    if (isDirectory) yield* filesIn(join(folder, name));
    else yield join(folder, name);
  }
}

/** Values of an attribute. */
function attributes(html: string, name: string): string[] {
  return [...html.matchAll(new RegExp(` ${name}="([^"]*)"`, "g"))].map(([, value = ""]) => value);
}

Deno.test("every link of the site leads somewhere, and it asks nothing of others", async () => {
  await using temp = await tempDir();
  await writeSite({ out: temp.path, repository: REPOSITORY });
  const files = [...filesIn(temp.path)];
  const pages = new Map(
    files.filter((path) => path.endsWith(".html")).map((path) =>
      [path, Deno.readTextFileSync(path)] as const
    ),
  );
  ok(pages.size > 30, `${pages.size} pages`);
  const wrong: string[] = [];
  for (const [path, html] of pages) {
    const here = relative(temp.path, path);
    for (const href of [...attributes(html, "href"), ...attributes(html, "src")]) {
      if (/^[a-z]+:/.test(href)) continue;
      const [file = "", anchor] = href.split("#");
      const target = file === "" ? path : join(dirname(path), decodeURI(file));
      const isThere = existsSync(target);
      const ids = attributes(pages.get(target) ?? "", "id");
      if (!isThere || (anchor !== undefined && !ids.includes(anchor))) {
        wrong.push(`${here}: ${href}`);
      }
    }
    for (const src of attributes(html, "src")) ok(!/^([a-z]+:)?\/\//.test(src), `${here}: ${src}`);
    ok(
      !/<[^>]+ on\w+=|<script(?![^>]* src=)|<style| style="|<iframe/.test(
        html.replace(/<pre>[\s\S]*?<\/pre>/g, ""),
      ),
      here,
    );
    deepEqual(attributes(html, "id").filter((id, at, all) => all.indexOf(id) !== at), [], here);
  }
  deepEqual(wrong, []);
  const outside = [...pages.values()].flatMap((html) => attributes(html, "href"))
    .filter((href) => href.startsWith(REPOSITORY));
  ok(outside.length > 3);
  for (const href of outside) match(href, new RegExp(`^${REPOSITORY}/(blob|tree)/v${VERSION}/\\w`));
});

browserTest("the search of the site works on a page that is opened from a file", async () => {
  await using temp = await tempDir();
  await writeSite({ out: temp.path });
  await using home = await tempDir();
  const browser = await chromium.launch({
    executablePath: BROWSER,
    args: [...(Deno.uid() === 0 ? ["--no-sandbox"] : []), "--disable-dev-shm-usage"],
    env: cleanEnv({ HOME: home.path, TMPDIR: home.path }),
    timeout: PATIENCE_MS,
  });
  try {
    const page = await browser.newPage();
    const faults: string[] = [];
    page.on("pageerror", (error) => faults.push(String(error)));
    page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
    await page.goto(pathToFileURL(join(temp.path, "design/security.html")).href);
    await page.keyboard.press("/");
    await page.keyboard.type("exit codes");
    await page.locator("#hits a").first().click();
    await page.waitForURL(/\/[a-z]+\.html#exit-codes$/);
    deepEqual(faults, []);
  } finally {
    await browser.close();
  }
}, { isLong: false });
