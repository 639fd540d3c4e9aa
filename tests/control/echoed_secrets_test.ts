/**
 * Platforms that repeat what they were sent, and answer with what is no name: nothing secret is told,
 * logged or stored, though it stands in no SecretStore yet.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok } from "node:assert/strict";
import type { Input } from "../../src/api/operations.ts";
import { AppError } from "../../src/base/errors.ts";
import { echo } from "../fakes/echo.ts";
import { textsIn } from "../helpers/stored_texts.ts";
import { type ControlRig, controlTest } from "../rigs/control_rig.ts";

const GITHUB = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
const BOT = "xoxb-1234567890-abcdefghijklmnop";
const APP = "xapp-1-A0123456-0987654321-fedcba";
const LINE = "hQ8/line+channel+access+token/1O=";
const CHANNEL_SECRET = "0f1e2d3c4b5a69788796a5b4c3d2e1f0";
const ALL = [GITHUB, BOT, APP, LINE, CHANNEL_SECRET];

const refuse = (status: number, body: object) => Response.json(body, { status });

/** What an operation on a Connection says, its refusal included. */
async function linesOf<Name extends "connect.github" | "connect.slack" | "connect.line">(
  rig: ControlRig,
  name: Name,
  input: Input<Name>,
): Promise<string> {
  const lines: string[] = [];
  try {
    for await (const line of rig.client.stream(name, input)) lines.push(JSON.stringify(line));
  } catch (error) {
    ok(error instanceof AppError);
    lines.push(`${error.code}: ${error.message}`);
  }
  return lines.join("\n");
}

async function connectAll(rig: ControlRig, api: string): Promise<Record<string, string>> {
  return {
    github: await linesOf(rig, "connect.github", {
      repository: "acme/app",
      api,
      url: "https://h.example",
      token: GITHUB,
    }),
    slack: await linesOf(rig, "connect.slack", { api, bot_token: BOT, app_token: APP }),
    line: await linesOf(rig, "connect.line", {
      api,
      url: "https://h.example",
      token: LINE,
      channel_secret: CHANNEL_SECRET,
    }),
  };
}

/** Nothing of these secrets is in what was said, logged or stored. */
async function nothingTold(rig: ControlRig, said: Readonly<Record<string, string>>) {
  const texts = [
    ...Object.entries(said),
    ["log", rig.logged.join("\n")],
    ["audit", JSON.stringify(await rig.client.call("get", { what: "control-audit" }))],
    ["connections", JSON.stringify(await rig.client.call("get", { what: "connection" }))],
    ...await textsIn(rig.dirs.root),
  ];
  for (const secret of ALL) {
    const forms = [secret, btoa(secret).slice(0, 20), encodeURIComponent(secret)];
    deepEqual(texts.filter(([, text]) => forms.some((form) => text?.includes(form))), []);
  }
}

controlTest("a token that a platform repeats in its refusal is shown nowhere", async (rig) => {
  await using api = echo(({ path, token }) => {
    if (path === "/auth.test") return { ok: false, error: `invalid_${token}` };
    return refuse(401, { message: `bad credentials Bearer ${token} (${btoa(`x:${token}`)})` });
  });
  const said = await connectAll(rig, api.url);
  match(said["github"] ?? "", /bad credentials Bearer \*\*\*/);
  match(said["line"] ?? "", /bad credentials Bearer \*\*\*/);
  match(said["slack"] ?? "", /invalid_\*\*\*/);
  await nothingTold(rig, said);
});

controlTest("a token that a platform gives as a name is shown nowhere", async (rig) => {
  await using api = echo(({ path, token }) => {
    if (path === "/user") return { login: token, id: 7 };
    if (path === "/v2/bot/info") return { displayName: token, userId: token };
    if (path === "/auth.test") return { ok: true, user: token, team: token, user_id: token };
    if (path === "/apps.connections.open") return { ok: false, error: token };
    return path === "/repos/acme/app" ? { full_name: "acme/app" } : refuse(404, { message: token });
  });
  const said = await connectAll(rig, api.url);
  match(said["slack"] ?? "", /bot token of \*\*\* in \*\*\*/);
  match(said["line"] ?? "", /channel access token of \*\*\*/);
  await nothingTold(rig, said);
});

controlTest("the token in use stays hidden while another one is tried", async (rig) => {
  await rig.apply(
    `kind: SecretStore\nmetadata: {name: line-tokens}\nspec: {data: {channelAccessToken: "${LINE}"}}`,
  );
  await using api = echo(() => refuse(401, { message: `not ${GITHUB}, it was ${LINE}` }));
  const url = "https://h.example";
  const input = { api: api.url, url, token: GITHUB, channel_secret: CHANNEL_SECRET };
  const said = { line: await linesOf(rig, "connect.line", input) };
  match(said.line, /not \*\*\*, it was \*\*\*/);
  await nothingTold(rig, said);
});

controlTest("a secret that is set stands in no error and no row", async (rig) => {
  const value = "tok-0123456789-abcdef";
  // A store of that name: the message names what was typed into the wrong place.
  for (const input of [{ store: value, key: "k" }, { store: "s", key: value }]) {
    const body = JSON.stringify({ ...input, value, create: false });
    const { json } = await rig.raw("/v1/secret.rotate", { body });
    ok(!JSON.stringify(json).includes(value), JSON.stringify(json));
    if (input.store === value) match(String(json["detail"]), /"\*\*\*"/);
  }
  ok(!rig.logged.join("\n").includes(value));
});

controlTest("a name that is no text is no bug, and a long one is cut", async (rig) => {
  const long = "n".repeat(300_000);
  for (const name of [{ toString: 1 }, ["x"], 7, null, "", " \n\u0007", long]) {
    await using api = echo(({ path }) => {
      if (path === "/user") return { login: name, id: 7 };
      if (path === "/v2/bot/info") return { displayName: name, userId: name };
      if (path === "/auth.test") return { ok: true, user: name, team: name, user_id: name };
      return path === "/apps.connections.open" ? { ok: false } : refuse(404, { message: "none" });
    });
    const said = await connectAll(rig, api.url);
    for (const text of Object.values(said)) {
      ok(!/internal/i.test(text) && text.length < 2000, text.slice(0, 3000));
    }
    const shown = name === long ? ` of ${"n".repeat(200)}` : ", answered without a name";
    ok(said["slack"]?.includes(`bot token${shown}`), said["slack"]);
    ok(said["line"]?.includes(`channel access token${shown}"`), said["line"]);
  }
});
