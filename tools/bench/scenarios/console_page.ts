/**
 * The page of `svc console` in Chromium: the time until it shows rows of many deliveries and a long
 * log, and how smoothly it scrolls. NaN if there is no Chromium.
 *
 * @module
 */

import type { Page } from "playwright-core";
import {
  BROWSER,
  startBrowser,
  startConsole,
  type TestBrowser,
  type TestConsole,
} from "../../../tests/helpers/browser.ts";
import { initDataDirectory, type TestDaemon } from "../../../tests/helpers/daemon.ts";
import { workflow } from "../../../tests/helpers/manifests.ts";
import { residentMb } from "../machine.ts";
import type { BenchContext, Figure, Scenario } from "../scenario.ts";
import { benchTrigger, requestTo, sendOne, startSite } from "../site.ts";
import { fillDatabase } from "../stored_rows.ts";

const DAY_MS = 24 * 3600 * 1000;
const DELIVERIES = 10_000;
/** Size of the log, in lines of 100 bytes. */
const LOG_LINES = { quick: 20_000, usual: 500_000, long: 500_000 } as const;
/** Number of places that the log is scrolled to. */
const JUMPS = 120;

/** The values of a run, in milliseconds and MB. */
interface Measured {
  readonly rows: number;
  readonly logStart: number;
  readonly logEnd: number;
  readonly frame: number;
  readonly memory: number;
}

export const consolePage: Scenario = {
  name: "console",
  title: "the page of svc console: first rows, a log of 50 MB, scrolling",
  async run(context) {
    if (BROWSER === "") {
      context.note("SKIPPED: no Chromium was found");
      return figures([{ rows: NaN, logStart: NaN, logEnd: NaN, frame: NaN, memory: NaN }]);
    }
    const { program, rounds, size } = context;
    await using directory = await initDataDirectory(program);
    {
      await using daemon = await startSite(program, { directory });
      await sendOne(requestTo(daemon.url, "accept"));
      await daemon.settled();
    }
    fillDatabase(`${directory.path}/svc.db`, { rows: DELIVERIES, agoMs: DAY_MS });
    await using daemon = await startSite(program, { directory });
    context.note("writing a long log");
    const task = await longLog(daemon, LOG_LINES[size]);
    const found: Measured[] = [];
    for (let round = 0; round < rounds; round++) {
      await using console = await startConsole(daemon, [], { program });
      await using browser = await startBrowser();
      found.push(await measure(context, { console, browser, task }));
    }
    return figures(found);
  },
};

async function longLog(daemon: TestDaemon, lines: number): Promise<string> {
  const line = `line %09d ${"of a log that says rather little, again ".repeat(2)}`;
  const script = `awk 'BEGIN { for (n = 0; n < ${lines}; n++) printf "${line}\\n", n }'`;
  await daemon.apply(
    workflow("long-log", script),
    benchTrigger("long-log", { workflow: "long-log", condition: "true" }),
  );
  const fired = await daemon.svc(["trigger", "fire", "long-log"]);
  if (fired.code !== 0) throw new Error(fired.stderr);
  const [task] = await daemon.settled();
  return task?.id ?? "";
}

/** The start of a line of the long log with this number. */
const lineText = (n: number) => `line ${String(n).padStart(9, "0")}`;

async function measure(
  { note, size }: BenchContext,
  { console: { link, origin }, browser, task }: {
    readonly console: TestConsole;
    readonly browser: TestBrowser;
    readonly task: string;
  },
): Promise<Measured> {
  const lines = LOG_LINES[size];
  const start = performance.now();
  const page = await browser.open(link.replace("/#", "/deliveries#"));
  await shown(page, ".rows .all .row");
  const rows = performance.now() - start;

  const log = await browser.context.newPage();
  const opened = performance.now();
  await log.goto(`${origin}/task/${task}/log`);
  await shown(log, ".log .line");
  const logStart = performance.now() - opened;
  await log.keyboard.press("g");
  await shown(log, ".log .line", lineText(0));
  const jumped = performance.now();
  await log.keyboard.press("G");
  await shown(log, ".log .line", lineText(lines - 1));
  const logEnd = performance.now() - jumped;
  const frame = await frames(log);
  const memory = await tabMb(browser);
  note(`rows ${rows.toFixed(0)} ms, log ${logStart.toFixed(0)} and ${logEnd.toFixed(0)} ms`);
  return { rows, logStart, logEnd, frame, memory };
}

/**
 * Resolves in the frame in which an element is there that contains the text. `waitFor` would only look
 * every 100 to 500 ms.
 */
async function shown(page: Page, selector: string, text = ""): Promise<void> {
  await page.evaluate(`new Promise((resolve) => {
    const look = () =>
      [...document.querySelectorAll(${JSON.stringify(selector)})]
          .some((one) => one.textContent.includes(${JSON.stringify(text)}))
        ? resolve()
        : requestAnimationFrame(look);
    look();
  })`);
}

/**
 * The 95th percentile of the times of frames in milliseconds, while the log is scrolled at random.
 */
async function frames(page: Page): Promise<number> {
  return await page.evaluate(`(async (jumps) => {
    const box = document.querySelector(".log");
    const times = [];
    let seed = 7;
    for (let n = 0; n < jumps; n++) {
      const before = await new Promise(requestAnimationFrame);
      seed = (seed * 1103515245 + 12345) % 2147483648;
      box.scrollTop = box.scrollHeight * seed / 2147483648;
      times.push(await new Promise(requestAnimationFrame) - before);
    }
    times.sort((a, b) => a - b);
    return times[Math.floor(times.length * 0.95)];
  })(${JUMPS})`);
}

/** Resident memory of the largest tab. */
async function tabMb({ context }: TestBrowser): Promise<number> {
  const session = await context.browser()?.newBrowserCDPSession();
  const { processInfo = [] } = await session?.send("SystemInfo.getProcessInfo") ?? {};
  const tabs = processInfo.filter(({ type }) => type === "renderer");
  return Math.max(...await Promise.all(tabs.map(({ id }) => residentMb(id))));
}

function figures(found: readonly Measured[]): Figure[] {
  const of = (name: keyof Measured) => found.map((one) => one[name]);
  return [
    {
      name: `first rows of ${DELIVERIES.toLocaleString("en")} deliveries`,
      unit: "ms",
      samples: of("rows"),
      target: { atMost: 1000 },
    },
    {
      name: "first lines of a log of 50 MB",
      unit: "ms",
      samples: of("logStart"),
      target: { atMost: 500 },
    },
    { name: "its end", unit: "ms", samples: of("logEnd"), target: { atMost: 1000 } },
    {
      name: "scrolling it, 95% of the frames",
      unit: "ms",
      samples: of("frame"),
      target: { atMost: 50 },
    },
    { name: "memory of its tab", unit: "MB", samples: of("memory"), target: { atMost: 300 } },
  ];
}
