/**
 * The login of a console for a team: where it leads, what it takes to open a session with it, and what
 * that session may do.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { connect } from "../../src/api/client.ts";
import { returnPath } from "../../src/console/return_path.ts";
import { LOGIN_MS, PendingLogins } from "../../src/console/login/pending_logins.ts";
import type { AskedWay, LoginSecrets, LoginWay } from "../../src/console/login/ways.ts";
import { Passthrough } from "../../src/console/passthrough.ts";
import { KEY_MS, Sessions } from "../../src/console/sessions.ts";
import { AppError } from "../../src/base/errors.ts";
import { ManualClock } from "../helpers/manual_clock.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import type { RawAnswer } from "../helpers/raw_client.ts";
import {
  codeOf,
  type ConsoleRig,
  consoleRig,
  type DaemonCall,
  LOGIN_COOKIE,
  TEAM_ORIGIN,
} from "../rigs/console_rig.ts";

Deno.test("a login leads back to a page of the console, and nowhere else", () => {
  for (
    const own of ["/", "/task/01J", "/tasks?state=failed&x=%23a", "/approvals?a=b?c", "/task/a.b"]
  ) {
    equal(returnPath(own), own);
  }
  const foreign = [
    null,
    "",
    "//evil",
    "//evil/task/1",
    "/\\evil",
    "\\\\evil",
    "\\/evil",
    "https://evil",
    "https:evil",
    "javascript:alert(1)",
    "data:text/html,x",
    " /task/1",
    "/task/1 ",
    "/\t/evil",
    "/\n/evil",
    "/%2f/evil",
    "/%5cevil",
    "/.//evil",
    "/task/../..//evil",
    "/task/..",
    "/nothing",
    "/login",
    "/login/google",
    "/v1/status",
    "/app.js",
    "/task/1#ticket=x",
    "/tasks?a=#ticket=x",
    "/tasks?a=\r\nset-cookie: x",
    "/tasks?a=\u00e9",
    'task/1"><script>',
    `/tasks?${"a".repeat(2000)}`,
  ];
  for (const one of foreign) equal(returnPath(one), "/", String(one));
});

const headOf = ({ head }: RawAnswer, name: string) =>
  new RegExp(`^${name}: (.*)\\r$`, "im").exec(head)?.[1];

/** A way whose provider is the test; it keeps what it was asked. */
function askedWay(
  finish: AskedWay["finish"] = (answer) =>
    Promise.resolve(`oidc:https://id.example#${answer.get("code")}`),
  name = "id",
): AskedWay & { readonly begun: LoginSecrets[] } {
  const begun: LoginSecrets[] = [];
  const begin = (secrets: LoginSecrets) => {
    begun.push(secrets);
    return Promise.resolve(`https://id.example/authorize?state=${secrets.state}`);
  };
  return { name, begun, begin, finish };
}

/** Plays the daemon: knows a person `ada` of two identities, who is `operator`. */
const KNOWN = ["oidc:https://id.example#ada", "header:ada"];
const knowsAda = ({ headers }: DaemonCall): Response => {
  const identity = decodeURIComponent(headers.get("svc-person") ?? "");
  if (KNOWN.includes(identity)) return Response.json({ person: "ada" });
  const type = { "content-type": "application/problem+json" };
  return Response.json({ code: "unauthorized", detail: "No Person" }, {
    status: 401,
    headers: type,
  });
};

/** A rig with these ways, and a browser that has this cookie. */
async function teamRig(...ways: readonly LoginWay[]): Promise<ConsoleRig> {
  return await consoleRig({ mode: "team", ways, daemon: knowsAda });
}

const get = (rig: ConsoleRig, path: string, more: Record<string, string> = {}) =>
  rig.send(`GET ${path}`, { host: rig.host, ...more });

Deno.test("a provider is asked, its answer counts once, and a ticket opens the page that was wanted", async () => {
  const way = askedWay();
  await using rig = await teamRig(way);
  const begun = await get(rig, "/login?return=%2Ftask%2F01J%3Fa%3Db");
  equal(begun.status, 302);
  const [secrets] = way.begun;
  equal(headOf(begun, "location"), `https://id.example/authorize?state=${secrets?.state}`);
  const cookie = headOf(begun, "set-cookie") ?? "";
  match(
    cookie,
    /^__Host-svc-login=[0-9a-f]{64}; Path=\/; Max-Age=600; Secure; HttpOnly; SameSite=Lax$/,
  );
  const [sent = ""] = cookie.split(";");
  const back = `/login/id/callback?code=ada&state=${secrets?.state}`;
  const done = await get(rig, back, { cookie: sent });
  equal(done.status, 302);
  const to = headOf(done, "location") ?? "";
  match(to, /^\/task\/01J\?a=b#ticket=[0-9a-f]{64}$/);
  const ticket = to.slice(to.indexOf("=", to.indexOf("#")) + 1);
  const session = await rig.page("/session", { ticket }, { cookie: sent });
  equal(session.status, 200);
  const authorization = `Bearer ${JSON.parse(session.body).key}`;
  equal((await rig.page("/v1/status", {}, { authorization, cookie: undefined })).status, 200);
  const last = rig.calls.at(-1);
  equal(last?.headers.get("svc-person"), "oidc%3Ahttps%3A%2F%2Fid.example%23ada");
  equal(last?.headers.get("svc-client"), "console");
  const again = await get(rig, back, { cookie: sent });
  deepEqual([again.status, headOf(again, "location")], [401, undefined], "replayed");
  equal(codeOf(await rig.page("/session", { ticket }, { cookie: sent })), "401 unauthorized");
});

Deno.test("an answer of a provider counts only in the browser that asked, for the way that it asked", async () => {
  const [one, two] = [askedWay(), askedWay(undefined, "other")];
  await using rig = await teamRig(one, two);
  const begin = async () => {
    const begun = await get(rig, "/login/id", { cookie: LOGIN_COOKIE });
    equal(headOf(begun, "set-cookie")?.split(";")[0], LOGIN_COOKIE, "one cookie for all its tabs");
    return one.begun.at(-1)?.state;
  };
  const other = `__Host-svc-login=${"d1".repeat(32)}`;
  const tries: readonly (readonly [string, (state?: string) => string, Record<string, string>])[] =
    [
      ["no cookie", (state) => `/login/id/callback?code=ada&state=${state}`, {}],
      ["another", (state) => `/login/id/callback?code=ada&state=${state}`, { cookie: other }],
      ["two", (state) => `/login/id/callback?code=ada&state=${state}`, {
        cookie: `${LOGIN_COOKIE}; ${other}`,
      }],
      ["no state", () => "/login/id/callback?code=ada", { cookie: LOGIN_COOKIE }],
      ["two states", (state) => `/login/id/callback?code=ada&state=${state}&state=${state}`, {
        cookie: LOGIN_COOKIE,
      }],
      ["a guess", () => `/login/id/callback?code=ada&state=${"0".repeat(64)}`, {
        cookie: LOGIN_COOKIE,
      }],
      ["another way", (state) => `/login/other/callback?code=ada&state=${state}`, {
        cookie: LOGIN_COOKIE,
      }],
    ];
  for (const [what, path, headers] of tries) {
    const answer = await get(rig, path(await begin()), headers);
    deepEqual([answer.status, headOf(answer, "location")], [401, undefined], what);
    match(answer.body, /Log in again/);
  }
  const good = await get(rig, `/login/id/callback?code=ada&state=${await begin()}`, {
    cookie: LOGIN_COOKIE,
  });
  equal(good.status, 302);
  for (const path of ["/login/nobody", "/login/id/callback/x", "/login/", "/login/ID"]) {
    equal((await get(rig, path)).status, 404, path);
  }
});

Deno.test("a ticket is worth nothing without the cookie of its login, and is then over", async () => {
  await using rig = await consoleRig({ mode: "team" });
  for (const cookie of [undefined, `__Host-svc-login=${"d1".repeat(32)}`, "svc-login=x"]) {
    const ticket = await rig.ticket();
    const stolen = await rig.page("/session", { ticket }, { cookie });
    equal(codeOf(stolen), "401 unauthorized");
    equal(headOf(stolen, "svc-login"), "/login", "the page goes there");
    equal(codeOf(await rig.page("/session", { ticket })), "401 unauthorized", "burnt");
  }
  const late = await rig.ticket();
  rig.clock.time += 60_000;
  equal(codeOf(await rig.page("/session", { ticket: late })), "401 unauthorized", "a minute");
});

Deno.test("who is no Person sees the line to add and nothing else, and gets no ticket", async () => {
  const nasty = "x\"><script>alert(1)</script>&'";
  await using rig = await teamRig(askedWay(() => Promise.resolve(`header:${nasty}`)));
  const answer = await logIn(rig, "/approvals");
  deepEqual([answer.status, headOf(answer, "location")], [403, undefined]);
  match(answer.body, /<a href="\/login\?return=%2Fapprovals">Log in again<\/a>/);
  ok(!answer.body.includes("<script>"), answer.body);
  match(answer.body, /is: \[&quot;header:x\\&quot;&gt;&lt;script&gt;alert\(1\)/);
  deepEqual(rig.calls.map(({ path }) => path), ["/v1/person.login"]);
});

Deno.test("what a way refuses is a page that says so, without its reason", async () => {
  const refusals = {
    "401": new AppError("unauthorized", "The login was refused", { reason: "of somebody else" }),
    "503": new AppError("unreachable", "The provider does not answer", { reason: "dns" }),
    "500": new TypeError("a bug"),
  };
  for (const [status, error] of Object.entries(refusals)) {
    const told: LoginWay = { name: "told", read: () => Promise.reject(error) };
    await using rig = await teamRig(told);
    const answer = await get(rig, "/login/told?return=%2Ftasks");
    equal(String(answer.status), status);
    ok(!/of somebody else|dns|a bug/.test(answer.body), answer.body);
    match(answer.body, /<a href="\/login\/told\?return=%2Ftasks">Log in again<\/a>/);
    deepEqual(rig.logged, ["login refused"]);
    await using asked = await teamRig(askedWay(() => Promise.reject(error)));
    const refused = await logIn(asked, "/tasks");
    equal(String(refused.status), status);
    match(refused.body, /<a href="\/login\?return=%2Ftasks">Log in again<\/a>/);
  }
});

/** Logs in at a provider that sends the browser back; gives the answer to that. */
async function logIn(rig: ConsoleRig, returnTo: string): Promise<RawAnswer> {
  const headers = { cookie: LOGIN_COOKIE };
  const begun = await get(rig, `/login/id?return=${encodeURIComponent(returnTo)}`, headers);
  const state = /state=([0-9a-f]+)/.exec(headOf(begun, "location") ?? "")?.[1];
  return await get(rig, `/login/id/callback?code=x&state=${state}`, headers);
}

Deno.test("an identity that no Person could have asks nobody", async () => {
  for (const identity of ["ada", "header:", "header:a b", "oidc:http://id#1", "github:ada"]) {
    await using rig = await teamRig({ name: "told", read: () => Promise.resolve(identity) });
    deepEqual([(await get(rig, "/login")).status, rig.calls.length], [401, 0], identity);
  }
});

Deno.test("with several ways, the browser chooses; the page that was wanted is kept", async () => {
  await using rig = await teamRig(askedWay(), askedWay(undefined, "b"));
  const { status, body } = await get(rig, "/login?return=%2Ftask%2F1");
  equal(status, 200);
  match(body, /<a href="\/login\/id\?return=%2Ftask%2F1">Log in with id<\/a>/);
  match(body, /<a href="\/login\/b\?return=%2Ftask%2F1">/);
});

Deno.test("four streams a person, over all keys, whatever others have open; and one ends with its key", async () => {
  const client = connect({ answer: () => Promise.resolve(new Response(new ReadableStream())) });
  const passthrough = new Passthrough(client);
  const ends = new AbortController();
  const open = (person: string) =>
    passthrough.answer({ name: "watch", streams: true }, {}, {
      signal: ends.signal,
      holder: { person, identity: `header:${person}` },
    });
  const streams = [];
  for (let n = 0; n < 4; n++) streams.push(await open("ada"));
  await rejects(open("ada"), { code: "rate_limited" });
  streams.push(await open("bob"));
  ends.abort();
  for (const { body } of streams) equal((await body?.getReader().read())?.done, true);
  const clock = new ManualClock();
  using sessions = new Sessions(clock);
  const key = sessions.exchange(sessions.issue().text)?.text ?? "";
  const over = sessions.find(key)?.over;
  await clock.advance(KEY_MS - 1);
  equal(over?.aborted, false);
  await clock.advance(1);
  equal(over?.aborted, true);
});

Deno.test("nobody crowds out another: of each person the newest sixteen keys hold", () => {
  using sessions = new Sessions(new ManualClock());
  const keyOf = (person: string) => {
    const of = { holder: { person, identity: `header:${person}` }, cookie: "c" };
    return sessions.exchange(sessions.issue(of).text, "c")?.text ?? "";
  };
  const bob = keyOf("bob");
  const keys = Array.from({ length: 17 }, () => keyOf("ada"));
  deepEqual(keys.map((key) => sessions.find(key)?.holder?.person).slice(0, 2), [undefined, "ada"]);
  equal(sessions.find(bob)?.holder?.identity, "header:bob");
});

Deno.test("a login under way is over after ten minutes, and the oldest of too many goes first", () => {
  const clock = new ManualClock();
  const pending = new PendingLogins(clock);
  const login = (state: string) => ({
    way: "id",
    cookie: "c",
    secrets: { state, nonce: "n", verifier: "v" },
    returnTo: "/",
  });
  pending.add(login("late"));
  clock.time += LOGIN_MS;
  equal(pending.take("late", "id", "c"), undefined);
  for (let n = 0; n <= 10_000; n++) pending.add(login(String(n)));
  equal(pending.take("0", "id", "c"), undefined);
  equal(pending.take("1", "id", "c")?.returnTo, "/");
  equal(pending.take("1", "id", "c"), undefined, "once");
});

Deno.test("the console of a team is at its origin, and of one person there is no login", async () => {
  await using team = await consoleRig({ mode: "team" });
  equal(team.server.url, TEAM_ORIGIN);
  await using own = await consoleRig();
  for (const path of ["/login", "/login/told", "/login/told/callback?state=x"]) {
    equal(codeOf(await get(own, path)), "404 not_found", path);
  }
});

Deno.test("over a Unix socket, which its group may open, the gate and the login are the same", async () => {
  await using dir = await tempDir();
  const socket = `${dir.path}/http.sock`;
  await using rig = await consoleRig({ mode: "team", socket });
  equal(((await Deno.stat(socket)).mode ?? 0) & 0o777, 0o660);
  const authorization = `Bearer ${await rig.key()}`;
  equal((await rig.page("/v1/status", {}, { authorization })).status, 200);
  const elsewhere = { authorization, host: "evil.example", origin: "https://evil.example" };
  equal(codeOf(await rig.page("/v1/status", {}, elsewhere)), "421 misdirected");
  equal((await get(rig, "/task/01J")).status, 200);
});

Deno.test("a socket that a killed console left is taken, one in use or another file is not", async () => {
  await using dir = await tempDir();
  const socket = `${dir.path}/http.sock`;
  Deno.listen({ transport: "unix", path: socket }).close(); // its file stays, as after a kill
  {
    await using first = await consoleRig({ mode: "team", socket });
    await rejects(consoleRig({ mode: "team", socket }), { code: "refused" });
    equal((await get(first, "/")).status, 200, "it is still there");
  }
  await Deno.remove(socket).catch(() => {});
  await Deno.writeTextFile(socket, "mine");
  await rejects(consoleRig({ mode: "team", socket }), { code: "refused" });
  equal(await Deno.readTextFile(socket), "mine");
});
