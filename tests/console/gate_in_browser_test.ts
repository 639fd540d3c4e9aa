/**
 * What only a browser knows of the gateway's rules: who gets the session, what other sites and other
 * ports of this machine can do, and what the policy of the page forbids.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import type { Page } from "playwright-core";
import { browserTest, startBrowser, startConsole } from "../helpers/browser.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";

const heading = (page: Page) => page.getByRole("heading", { level: 1 });
const NO_SESSION = "This page needs a link";

/** A stranger's server on another port of this machine; notes what it gets. */
function stranger(html: (own: string) => string) {
  const cookies: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    cookies.push(request.headers.get("cookie") ?? "");
    return new Response(html(new URL(request.url).origin), {
      headers: { "content-type": "text/html" },
    });
  });
  return {
    origin: `http://127.0.0.1:${server.addr.port}`,
    cookies,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

browserTest("a link opens one session, and tabs of its address share it", async () => {
  await using daemon = await startDaemon(ONE_PROGRAM);
  await using console = await startConsole(daemon);
  await using browser = await startBrowser();
  const first = await browser.open(console.link);
  await first.getByText("● live").waitFor();
  equal(new URL(first.url()).hash, "", "the ticket is wiped from the address");

  await first.reload();
  await first.getByText("● live").waitFor();
  const second = await browser.open(`${console.origin}/deliveries`);
  await second.getByText("● live").waitFor();

  await using other = await startBrowser();
  const late = await other.open(console.link);
  equal(await heading(late).textContent(), NO_SESSION, "a ticket is good once");
  equal(await heading(await other.open(console.origin)).textContent(), NO_SESSION);
  other.expects(/\b401\b/);
  deepEqual((await browser.context.cookies()).length, 0);
});

browserTest(
  "a page on another port gets neither key nor cookie, and can call nothing",
  async () => {
    await using daemon = await startDaemon(ONE_PROGRAM);
    await using console = await startConsole(daemon);
    await using server = stranger(() => "<h1>stranger</h1>");
    await using browser = await startBrowser();
    const page = await browser.open(console.link);
    await page.getByText("● live").waitFor();

    const bad = await browser.open(server.origin);
    const got = await bad.evaluate(`(async (target) => {
      const heard = [];
      const channel = new BroadcastChannel("svc-console");
      channel.onmessage = ({ data }) => heard.push(data);
      channel.postMessage({ asks: true });
      const tried = async (init) => {
        try {
          const response = await fetch(target + "/v1/status", init);
          return response.type === "opaque" ? "opaque" : "read " + await response.text();
        } catch {
          return "blocked";
        }
      };
      const results = [
        await tried({ method: "POST", mode: "no-cors", body: "{}" }),
        await tried({ method: "POST", body: "{}" }),
        await tried({
          method: "POST",
          body: "{}",
          headers: { "content-type": "application/json", authorization: "Bearer x" },
        }),
        await tried({ method: "GET", mode: "no-cors" }),
      ];
      const frame = document.createElement("iframe");
      frame.src = target;
      const loaded = new Promise((done) => frame.onload = done);
      document.body.append(frame);
      await loaded;
      await new Promise((done) => setTimeout(done, 600)); // longer than tabs wait for each other
      return { heard, results, stored: sessionStorage.length, inFrame: frame.contentDocument };
    })(${JSON.stringify(console.origin)})`) as {
      readonly heard: readonly unknown[];
      readonly results: readonly string[];
      readonly stored: number;
      readonly inFrame: unknown;
    };
    deepEqual(got.heard, []);
    deepEqual(got.stored, 0);
    equal(got.inFrame, null);
    for (const result of got.results) ok(["opaque", "blocked"].includes(result), result);
    deepEqual(server.cookies.filter((cookie) => cookie !== ""), []);
    browser.expects(/./); // whatever was blocked is reported
    await using terminal = daemon.client();
    equal((await terminal.call("get", { what: "control-audit" })).items.length, 0);
  },
);

browserTest(
  "a name that is bound anew to this machine gets nothing, not even the page",
  async () => {
    await using daemon = await startDaemon(ONE_PROGRAM);
    await using console = await startConsole(daemon);
    const { hostname, port, hash } = new URL(console.link);
    await using browser = await startBrowser({
      args: [`--host-resolver-rules=MAP rebound.test ${hostname}`],
    });
    const tab = await browser.context.newPage();
    const answer = await tab.goto(`http://rebound.test:${port}/${hash}`);
    equal(answer?.status(), 421);
    equal(await tab.locator("#app").count(), 0);
    const own = await browser.open(console.link);
    await own.getByText("● live").waitFor(); // the ticket was not used up
    browser.expects(/\b421\b|Cross-Origin-Opener-Policy/);
  },
);

browserTest(
  "the page cannot turn text into markup or a program, nor load from elsewhere",
  async () => {
    await using daemon = await startDaemon(ONE_PROGRAM);
    await using console = await startConsole(daemon);
    await using server = stranger(() => "x");
    await using browser = await startBrowser();
    const page = await browser.open(console.link);
    await page.getByText("● live").waitFor();
    const results = await page.evaluate(`(async (elsewhere) => {
      const tried = {};
      try {
        document.body.innerHTML = "<img src=x onerror=alert(1)>";
        tried["innerHTML"] = "taken";
      } catch (error) {
        tried["innerHTML"] = String(error);
      }
      await new Promise((done) => setTimeout(done, 0)); // until here the driver may evaluate text
      try {
        tried["eval"] = String(new Function("return 'ran'")());
      } catch (error) {
        tried["eval"] = String(error);
      }
      tried["fetch"] = await fetch(elsewhere).then(() => "loaded", () => "blocked");
      const image = new Image();
      tried["image"] = await new Promise((done) => {
        image.onload = () => done("loaded");
        image.onerror = () => done("blocked");
        image.src = elsewhere + "/x.png";
      });
      const script = document.createElement("script");
      try {
        script.text = "globalThis.ran = true";
        document.head.append(script);
      } catch { /* Trusted Types */ }
      tried["script"] = String(globalThis.ran);
      return tried;
    })(${JSON.stringify(server.origin)})`) as Record<string, string>;
    match(results["innerHTML"] ?? "", /TypeError/);
    match(results["eval"] ?? "", /EvalError|TypeError/);
    equal(results["fetch"], "blocked");
    equal(results["image"], "blocked");
    equal(results["script"], "undefined");
    deepEqual(server.cookies, [], "nothing arrived elsewhere");
    browser.expects(/./); // whatever was blocked is reported
  },
);

browserTest("seven tabs work: four with a stream, the others ask", async () => {
  await using daemon = await startDaemon(ONE_PROGRAM);
  await using console = await startConsole(daemon);
  await using browser = await startBrowser();
  const pages = [await browser.open(console.link)];
  await pages[0]?.getByText("● live").waitFor();
  for (let n = 1; n < 7; n++) pages.push(await browser.open(`${console.origin}/deliveries`));
  await until("seven tabs that are up to date", async () => {
    const texts = await Promise.all(
      pages.map((page) => page.locator(".connection").textContent().catch(() => "")),
    );
    const counts = [/live/, /polling/].map((one) => texts.filter((t) => one.test(t ?? "")).length);
    return counts[0] === 4 && counts[1] === 3 ? true : undefined;
  });
  browser.expects(/\b429\b/);
});
