/**
 * The console of a team in a browser: a link to a page leads through the login to that page, further tabs
 * need none, and who loses the Person in the midst of it is out.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { BROWSER, browserTest, picture, startBrowser } from "../helpers/browser.ts";
import { makePair, NO_OPENSSL } from "../helpers/certificate.ts";
import { freePort } from "../helpers/postgres_server.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { ada, SECRET, teamRig } from "../rigs/team_rig.ts";

browserTest(
  "a link leads through the login to its page, and a Person who is no more is out",
  async () => {
    await using dir = await tempDir();
    await makePair(dir.path, "page", "DNS:svc.example.com");
    const port = freePort();
    const origin = `https://svc.example.com:${port}`;
    const tls = ["--tls-cert", `${dir.path}/page.crt`, "--tls-key", `${dir.path}/page.key`];
    await using rig = await teamRig(ONE_PROGRAM, { origin, bind: `127.0.0.1:${port}`, args: tls });
    await using browser = await startBrowser({
      args: ["--ignore-certificate-errors", "--host-resolver-rules=MAP svc.example.com 127.0.0.1"],
    });
    browser.expects(/Failed to load resource: .*(401|403)|stream|net::ERR/i);
    const asAda = { "x-forwarded-user": "ada", "x-svc-secret": SECRET };
    await browser.context.setExtraHTTPHeaders(asAda);

    const page = await browser.open(`${origin}/tasks?state=failed`);
    await page.locator("header nav").first().waitFor();
    const place = new URL(page.url());
    deepEqual([place.pathname, place.search, place.hash], ["/tasks", "?state=failed", ""]);
    const cookies = await browser.context.cookies(origin);
    deepEqual(cookies.map(({ name, httpOnly, secure, path }) => [name, httpOnly, secure, path]), [
      ["__Host-svc-login", true, true, "/"],
    ]);
    await picture(page, "team-console");

    // A tab beside it asks its sibling: no login, so also none that could be refused.
    await browser.context.setExtraHTTPHeaders({});
    const beside = await browser.open(`${origin}/approvals`);
    await beside.locator("header nav").first().waitFor();
    equal(new URL(beside.url()).pathname, "/approvals");

    // A ticket that is no good: the page stays out, and does not go round.
    const other = await startBrowser({
      args: ["--ignore-certificate-errors", "--host-resolver-rules=MAP svc.example.com 127.0.0.1"],
    });
    other.expects(/401/);
    await using _other = other;
    const stolen = await other.open(`${origin}/#ticket=${"0".repeat(64)}`);
    await stolen.getByText("You are not logged in").waitFor();
    equal(new URL(stolen.url()).pathname, "/");

    await rig.daemon.apply(ada("operator", "header:lovelace"));
    await page.getByText("You are logged out").waitFor();
    await picture(page, "team-console-logged-out");
    await browser.context.setExtraHTTPHeaders(asAda);
    await page.getByRole("button", { name: "Log in again" }).click();
    await page.getByText("You are not known here").waitFor();
    match(await page.locator("pre").innerText(), /^is: \["header:ada"\]$/);
    await picture(page, "team-console-stranger");
  },
  { isLong: true, skip: BROWSER === "" ? undefined : NO_OPENSSL },
);

/** What a proxy answers in place of the console once its own login is over, or while the console is away. */
const OF_PROXY = {
  "leads to its login": { status: 302, headers: { location: "https://proxy.example/login" } },
  "shows its login": { status: 200, contentType: "text/html", body: "<h1>Log in</h1>" },
  "refuses without a word": { status: 401, contentType: "text/plain", body: "no" },
  "refuses with a page": { status: 403, contentType: "text/html", body: "<h1>Forbidden</h1>" },
} as const;

browserTest("a page says once that the login at the proxy is over, and comes back", async (t) => {
  await using dir = await tempDir();
  await makePair(dir.path, "page", "DNS:svc.example.com");
  const port = freePort();
  const origin = `https://svc.example.com:${port}`;
  const tls = ["--tls-cert", `${dir.path}/page.crt`, "--tls-key", `${dir.path}/page.key`];
  await using _rig = await teamRig(ONE_PROGRAM, { origin, bind: `127.0.0.1:${port}`, args: tls });
  await using browser = await startBrowser({
    args: ["--ignore-certificate-errors", "--host-resolver-rules=MAP svc.example.com 127.0.0.1"],
  });
  browser.expects(/Failed to load resource|stream|net::ERR/i);
  const { context } = browser;
  await context.setExtraHTTPHeaders({ "x-forwarded-user": "ada", "x-svc-secret": SECRET });
  const page = await browser.open(`${origin}/tasks?state=failed`);
  await page.locator("header nav").first().waitFor();
  for (const [what, answer] of Object.entries(OF_PROXY)) {
    await t.step(what, async () => {
      await context.route(/\/v1\//, (route) => route.fulfill(answer));
      await page.getByRole("link", { name: "Deliveries" }).click();
      await page.getByRole("heading", { name: "You are logged out" }).waitFor();
      const place = page.url();
      await picture(page, `team-proxy-${answer.status}`);
      await context.unrouteAll();
      await page.getByRole("button", { name: "Log in again" }).click();
      await page.locator("header nav").first().waitFor();
      equal(page.url(), place);
      await page.getByRole("link", { name: "Tasks" }).click();
      await page.getByRole("heading", { name: "Tasks" }).waitFor();
    });
  }
  await t.step("while the proxy does not reach the console, nobody is logged out", async () => {
    const body = "<h1>Bad gateway</h1>";
    await context.route(
      /\/v1\//,
      (route) => route.fulfill({ status: 502, contentType: "text/html", body }),
    );
    await page.getByRole("link", { name: "Deliveries" }).click();
    await page.getByText("svc console does not answer: this data is old").waitFor();
    await picture(page, "team-proxy-502");
    await context.unrouteAll();
    await page.locator(".connection:not(.lost)").waitFor();
  });
}, { isLong: true, skip: BROWSER === "" ? undefined : NO_OPENSSL });
