/**
 * The log of a task in a browser, with a real daemon: long ones, searched and downloaded, and one that
 * is written while it is read.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { utf8 } from "../../src/base/bytes.ts";
import { encodeChunk } from "../../src/tasks/log/log_format.ts";
import { browserTest, picture, startBrowser, startConsole } from "../helpers/browser.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { type Manifest, secretStore, trigger } from "../helpers/manifests.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";

/** A hundred thousand lines: a few are looked for, and what would drive a terminal is among them. */
const LONG: Manifest = {
  kind: "Workflow",
  metadata: { name: "long" },
  spec: {
    steps: [
      { id: "prepare", run: "echo ready" },
      {
        id: "build",
        run: `awk 'BEGIN { for (i = 1; i <= 100000; i++)
            printf "\\033[32mline %06d\\033[0m of the build%s\\n", i, i % 40000 == 777 ? " NeedLe" : "" }'
          printf 'see \\033]8;;javascript:alert(1)\\007the report\\033]8;;\\007\\n'
          printf '\\033]0;title\\007a\\342\\200\\256b \\033[1;31mred\\033[0m <img src=x onerror=alert(1)>\\n'
          echo "it broke" >&2; exit 1`,
      },
    ],
    finally: [{ id: "clean", run: "echo cleaned" }],
  },
};

async function start(daemon: TestDaemon, flow: Manifest): Promise<string> {
  const { name } = flow.metadata;
  const secrets = secretStore("github", { webhook_secret: "sesame-sesame-sesame" });
  await daemon.apply(secrets, flow, trigger(name, { workflow: name }));
  const { task_id } = await daemon.json("trigger", "fire", name) as { readonly task_id: string };
  return task_id;
}

const lines = (page: Page) => page.getByRole("region", { name: "Lines of the log" });
/** The line that was found. */
const current = (page: Page) => lines(page).locator("[aria-current]");
/** Something of the box of lines, such as how far it is scrolled. */
const ofBox = (page: Page, what: string) =>
  page.evaluate(`document.querySelector(".log").${what}`) as Promise<number>;

browserTest(
  "a log of a hundred thousand lines: its ends, its errors, a text, a step, all of it",
  async () => {
    await using daemon = await startDaemon(ONE_PROGRAM);
    const id = await start(daemon, LONG);
    await daemon.settled();
    await using console = await startConsole(daemon, [`task/${id}`]);
    await using browser = await startBrowser();
    const page = await browser.open(console.link);
    await page.getByRole("link", { name: "Log", exact: true }).click();

    // The end first; text is text, colours are classes, and nothing else is left of a terminal.
    const log = lines(page);
    await log.getByText("cleaned").waitFor();
    await log.getByText("see the report").waitFor();
    await log.getByText("ab red <img src=x onerror=alert(1)>").waitFor();
    equal(await log.getByText("red", { exact: true }).getAttribute("class"), "bold fg-red");
    equal(await log.locator("img, a:not(.at)").count(), 0);
    ok(!(await page.content()).includes("javascript:"));
    await picture(page, "log-end");

    await page.keyboard.press("g");
    await log.getByText("ready").waitFor();
    equal(await ofBox(page, "scrollTop"), 0);
    await page.keyboard.press("G");
    await log.getByText("cleaned").waitFor();
    await page.keyboard.press("e");
    await current(page).getByText("it broke").waitFor();

    // A text, in any case, from where one reads; after the last one the first.
    await page.keyboard.press("g");
    await log.getByText("ready").waitFor();
    await page.keyboard.press("f");
    await page.keyboard.type("needle");
    await page.keyboard.press("Enter");
    await current(page).getByText("line 000777").waitFor();
    await page.keyboard.press("Enter");
    await current(page).getByText("line 040777").waitFor();
    equal(await current(page).locator("mark").textContent(), "NeedLe");
    await picture(page, "log-found");
    await page.getByRole("button", { name: "Next match" }).click();
    await current(page).getByText("line 080777").waitFor();
    await page.keyboard.press("n");
    await current(page).getByText("line 000777").waitFor();
    await page.getByText("wrapped around").waitFor();
    await page.getByRole("button", { name: "Previous match" }).click();
    await current(page).getByText("line 080777").waitFor();

    // Backwards line by line: what is above is read when it comes near, and what is seen stays.
    const seen = () => log.locator(".line").filter({ hasText: "line 080777" }).boundingBox();
    const before = await seen();
    await log.hover();
    await page.mouse.wheel(0, -200);
    await until("the line to move by as much", async () => {
      const now = await seen();
      return Math.abs((now?.y ?? 0) - (before?.y ?? 0) - 200) < 2 ? true : undefined;
    });
    for (let times = 0; times < 6; times++) {
      await page.evaluate(`document.querySelector(".log").scrollTop = 100`);
      await until(
        "more lines above",
        async () => await ofBox(page, "scrollTop") > 5000 || undefined,
      );
    }
    const shown = (await log.locator(".line").allTextContents())
      .map((text) => Number(/line ([0-9]{6})/.exec(text)?.[1]));
    deepEqual(shown, shown.map((_, index) => (shown[0] ?? NaN) + index), "no line is missing");

    // A link to a line leads there.
    await page.keyboard.press("n");
    await current(page).getByText("NeedLe").waitFor();
    const text = await current(page).innerText();
    const link = await current(page).locator("a.at").getAttribute("href") ?? "";
    const other = await browser.open(new URL(link, page.url()).href);
    await current(other).waitFor();
    equal(await current(other).innerText(), text);
    await other.close();

    await page.getByRole("combobox", { name: "Step" }).selectOption("prepare");
    await log.getByText("ready").waitFor();
    equal(await log.locator(".line").count(), 1);
    await page.getByRole("combobox", { name: "Step" }).selectOption("");
    await log.getByText("cleaned").waitFor();
    await page.getByLabel("Wrap").check();
    await page.locator(".log.wrapped").waitFor();
    await log.getByText("cleaned").waitFor();

    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download" }).click();
    const file = await download;
    equal(file.suggestedFilename(), `${id}.log`);
    const { stdout } = await daemon.svc(["task", "logs", id]);
    const downloaded = await Deno.readTextFile(await file.path());
    ok(downloaded.includes("line 100000") && downloaded.includes("]8;;"), "as it was printed");
    // The command prints svc's own lines beside it.
    equal(downloaded.replace(/^\[svc: .*\n/gm, ""), stdout);
  },
);

browserTest(
  "a log that grows is followed until the reader scrolls",
  async () => {
    await using daemon = await startDaemon(ONE_PROGRAM);
    const next = (file: string) => `until [ -e ${file} ]; do sleep 0.05; done`;
    const write = (from: number) => `seq -f "line %.0f" ${from} ${from + 299}`;
    const run = `${write(1)}; ${next("one")}; ${write(301)}; ${next("two")}; ${write(601)}
    printf "sure? "; ${next("three")}; echo yes; seq -f "more %.0f" 1 30000`;
    const flow = {
      kind: "Workflow",
      metadata: { name: "live" },
      spec: { steps: [{ id: "s", run }] },
    };
    const id = await start(daemon, flow);
    const go = (file: string) => Deno.writeTextFile(join(daemon.workspace, file), "");
    await using console = await startConsole(daemon, [`task/${id}/log`]);
    await using browser = await startBrowser();
    const page = await browser.open(console.link);
    const log = lines(page);
    await log.getByText("line 300", { exact: true }).waitFor();
    await page.getByText("● following").waitFor();
    await go("one");
    await log.getByText("line 600", { exact: true }).waitFor();

    await page.evaluate(`document.querySelector(".log").scrollTop -= 400`);
    await page.getByText("not following").waitFor();
    const top = await ofBox(page, "scrollTop");
    await go("two");
    await until(
      "the lines to be there",
      async () => await ofBox(page, "scrollHeight") >= 900 * 20 || undefined,
    );
    equal(await ofBox(page, "scrollTop"), top, "what is read stays where it is");
    await page.keyboard.press("G");
    await log.getByText("sure?", { exact: true }).waitFor();
    await go("three");
    // More at once than the page holds.
    await page.locator(".title .chip").getByText("succeeded").waitFor();
    await log.getByText("more 30000", { exact: true }).waitFor();
    await page.getByLabel("Search in the log").fill("sure?");
    await page.getByRole("button", { name: "Previous match" }).click();
    await current(page).getByText("sure? yes", { exact: true }).waitFor();
    equal(await log.getByText("sure?").count(), 1);
  },
);

browserTest("of a log of 50 MB the page holds and reads only a part", async () => {
  await using daemon = await startDaemon(ONE_PROGRAM);
  const flow = {
    kind: "Workflow",
    metadata: { name: "huge" },
    spec: { steps: [{ id: "s", run: "true" }] },
  };
  const id = await start(daemon, flow);
  await daemon.settled();
  writeLog(join(daemon.dataDir, "logs", `${id}.jsonl`), 50_000_000);
  await using console = await startConsole(daemon, [`task/${id}/log`]);
  await using browser = await startBrowser();
  const answers: Promise<number>[] = [];
  browser.context.on("response", (response) => {
    if (!response.url().endsWith("/v1/task.log.read")) return;
    answers.push(response.body().then(({ length }) => length, () => 0));
  });
  const page = await browser.open(console.link);
  const log = lines(page);
  await log.getByText("the last line").waitFor();
  const read = (await Promise.all(answers)).reduce((sum, bytes) => sum + bytes, 0);
  ok(read > 0 && read < 2_000_000, `${read} bytes for the first screen`);

  await page.keyboard.press("g");
  await log.getByText("the first line").waitFor();
  for (let times = 0; times < 40; times++) {
    await page.evaluate(`document.querySelector(".log").scrollTop = 1e9`);
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))");
  }
  await page.getByLabel("Position in the log").fill("500");
  await page.getByText(/Held: 2[45]\.[0-9] MB/).waitFor();
  const height = await ofBox(page, "scrollHeight");
  ok(height <= 22_000 * 20, `${height} pixels of lines`);
  const nodes = await page.evaluate("document.querySelectorAll('*').length") as number;
  ok(nodes < 2000, `${nodes} elements`);
  const megabytes = await memoryOf(page) / 1e6;
  ok(megabytes < 300, `the tab takes ${megabytes} MB`);
});

/** A log with lines of some hundred bytes, as a step would have written them. */
function writeLog(path: string, bytes: number): void {
  using file = Deno.openSync(path, { create: true, truncate: true, write: true });
  const piece = (text: string) =>
    utf8(encodeChunk({ at: Date.UTC(2026, 0, 31), step: "s", stream: "out", bytes: utf8(text) }));
  const many = Array.from({ length: 400 }, (_, index) => `compiled module ${index} in 3 ms\n`).join(
    "",
  );
  const parts = [piece("the first line\n")];
  const middle = piece(many);
  for (let size = 0; size < bytes; size += middle.length) parts.push(middle);
  parts.push(piece("the last line\n"));
  for (const part of parts) {
    for (let at = 0; at < part.length;) at += file.writeSync(part.subarray(at));
  }
}

/** Memory of the process of a tab, in bytes. */
async function memoryOf(page: Page): Promise<number> {
  const session = await page.context().browser()?.newBrowserCDPSession();
  const { processInfo } = await session?.send("SystemInfo.getProcessInfo") ?? { processInfo: [] };
  const renderers = processInfo.filter(({ type }) => type === "renderer");
  const sizes = renderers.map(({ id }) => {
    const status = Deno.readTextFileSync(`/proc/${id}/status`);
    return Number(/^VmRSS:\s+([0-9]+) kB$/m.exec(status)?.[1]) * 1024;
  });
  ok(sizes.length > 0, "it finds the process");
  return Math.max(...sizes);
}
