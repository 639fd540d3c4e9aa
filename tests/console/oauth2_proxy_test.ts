/**
 * The console behind oauth2-proxy as docs/team-console.md has it: nginx ends TLS, oauth2-proxy logs people
 * in at a real provider, and its header comes to the console over a Unix socket.
 *
 * @module
 */

import { match, ok, strictEqual as equal } from "node:assert/strict";
import { BROWSER, browserTest, picture, startBrowser } from "../helpers/browser.ts";
import { NO_OPENSSL } from "../helpers/certificate.ts";
import { trigger } from "../helpers/manifests.ts";
import { freePort } from "../helpers/postgres_server.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";
import { missing } from "../helpers/requirements.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { askProxy, nginx, oauth2Proxy, startProxy } from "../rigs/console_proxies.ts";
import { CLIENT, logInAtProvider, startProvider } from "../rigs/real_provider.ts";
import { teamRig } from "../rigs/team_rig.ts";

/** What a sender might say to be somebody else, who is a Person with more rights. */
const FORGED = [
  "x-forwarded-user: eve",
  "X-FORWARDED-USER: eve",
  "x-forwarded-preferred-username: eve",
  "x-forwarded-email: eve",
  "x-auth-request-user: eve",
];
const EVE = {
  kind: "Person",
  metadata: { name: "eve" },
  spec: { role: "admin", is: ["header:eve"] },
};
const FAILS = {
  kind: "Workflow",
  metadata: { name: "fails" },
  spec: { steps: [{ id: "no", run: "false" }] },
};

browserTest(
  "behind oauth2-proxy as docs/team-console.md has it, a person logs in, acts and logs out",
  async () => {
    await using opening = new AsyncDisposableStack();
    const dir = opening.use(await tempDir());
    const port = freePort();
    const origin = `https://svc.example.com:${port}`;
    const provider = opening.use(await startProvider(freePort(), `${origin}/oauth2/callback`));
    const socket = `${dir.path}/http.sock`;
    const login = "login: [{name: proxy, header: {header: X-Forwarded-User}}]";
    const rig = opening.use(await teamRig(ONE_PROGRAM, { origin, bind: `unix:${socket}`, login }));
    await rig.daemon.apply(EVE, FAILS, trigger("go", { workflow: "fails" }));
    const inner = freePort();
    opening.use(await startProxy(oauth2Proxy({ socket, origin, provider, client: CLIENT }), inner));
    const { ca } = opening.use(await startProxy(nginx(inner), port));
    const browser = opening.use(
      await startBrowser({
        args: [
          "--ignore-certificate-errors",
          "--host-resolver-rules=MAP svc.example.com 127.0.0.1",
        ],
      }),
    );
    browser.expects(/Failed to load resource|stream|net::ERR/i);
    const { context } = browser;

    /** Sends a request past the browser; gives its answer. */
    const ask = (line: string, headers: readonly string[], body = "") => {
      const head = [
        `${line} HTTP/1.1`,
        `host: svc.example.com:${port}`,
        "connection: close",
        ...headers,
        ...(body === "" ? [] : [
          `origin: ${origin}`,
          "content-type: application/json",
          `content-length: ${body.length}`,
        ]),
      ];
      return askProxy(port, ca, `${head.join("\r\n")}\r\n\r\n${body}`);
    };
    const cookies = async () => {
      const all = await context.cookies(origin);
      return `cookie: ${all.map(({ name, value }) => `${name}=${value}`).join("; ")}`;
    };

    const refused = /^HTTP\/1\.1 40[13] .*Sign in with OpenID Connect/is;
    match(await ask("GET /tasks", []), refused);
    match(await ask("GET /login", FORGED), refused);
    equal(rig.served.stderr, "", "the console has not seen them");

    const page = await browser.open(`${origin}/tasks?state=failed`);
    const signIn = page.getByRole("button", { name: "Sign in with OpenID Connect" });
    await signIn.click();
    await logInAtProvider(page, "ada");
    await page.getByRole("button", { name: "ada", exact: true }).waitFor();
    equal(page.url(), `${origin}/tasks?state=failed`);
    await picture(page, "oauth2-proxy");

    equal((await rig.daemon.svc(["trigger", "fire", "go"])).code, 0);
    await page.getByText('step "no": exit code 1').waitFor(); // of a stream through all of them

    const own = await cookies();
    const answer = await ask("GET /login", [own, ...FORGED]);
    const [, ticket] = /\nlocation: \S*#ticket=(\S+)/i.exec(answer) ?? [];
    const session = await ask("POST /session", [own], JSON.stringify({ ticket }));
    match(session, /"person":"ada"/);
    const [, key] = /"key":"([0-9a-f]+)"/.exec(session) ?? [];
    const asPage = `authorization: Bearer ${key}`;
    const status = await ask("POST /v1/status", [own, asPage, ...FORGED], "{}");
    equal(/"caller":(\{.*?\})/.exec(status)?.[1], '{"name":"ada","role":"operator"}');
    match(await ask("POST /v1/status", [asPage, ...FORGED], "{}"), refused, "no login there");

    const beside = await browser.open(`${origin}/oauth2/sign_out`);
    await beside.close();
    ok(!(await cookies()).includes("_oauth2_proxy="));
    await page.getByRole("link", { name: "Deliveries" }).click();
    await page.getByRole("heading", { name: "You are logged out" }).waitFor();
    await picture(page, "oauth2-proxy-logged-out");
    // The provider still knows her: no password, and back where she was.
    await page.getByRole("button", { name: "Log in again" }).click();
    await signIn.click();
    await page.getByRole("button", { name: "ada", exact: true }).waitFor();
    equal(new URL(page.url()).pathname, "/deliveries");
  },
  { skip: BROWSER === "" ? undefined : NO_OPENSSL ?? missing("oauth2-proxy", "nginx") },
);
