/**
 * Tokens of an App against a stand-in that checks them as GitHub does: each is for one repository and
 * the rights of one purpose, and only while it lasts.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { AppError } from "../../src/base/errors.ts";
import type { WantedRights } from "../../src/connections/github/app_rights.ts";
import { callGitHub } from "../../src/connections/github/github_client.ts";
import { ForgeTokens } from "../../src/connections/forge_tokens.ts";
import { KnownSecrets } from "../../src/secrets/known_secrets.ts";
import type { Connection } from "../../src/connections/find_connection.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import { type FakeGitHub, fakeGitHub } from "../fakes/github.ts";
import { type FakeApp, type FakeInstallation, newAppKey } from "../fakes/github_app.ts";
import { ManualClock } from "../helpers/manual_clock.ts";
import { manifestResources } from "../rigs/webhook_rig.ts";

const REPOSITORY = "acme/site";
const COMMENT: WantedRights = { needs: { issues: "write" }, likes: { pull_requests: "write" } };
const RIGHTS = { issues: "write", statuses: "write", contents: "read" } as const;
const HOUR_MS = 3600_000;

class Rig implements AsyncDisposable {
  readonly clock = new ManualClock();
  readonly secrets = new KnownSecrets();
  readonly github: FakeGitHub = fakeGitHub({
    tokens: [],
    repositories: [{ full_name: REPOSITORY }, { full_name: "acme/other" }],
  });
  readonly app: FakeApp;
  readonly installation: FakeInstallation;
  readonly tokens: ForgeTokens;
  readonly connection: Connection;

  #differs = 0;

  constructor({ keys = (pem: string) => [pem] }: { keys?: (pem: string) => string[] } = {}) {
    this.tell();
    this.github.interfere = async (_call, carryOut) => {
      const answer = await carryOut();
      const at = new Date(this.clock.now() + this.#differs).toUTCString();
      return new Response(answer.body, {
        status: answer.status,
        headers: { ...Object.fromEntries(answer.headers), date: at },
      });
    };
    this.app = this.github.apps.register("acme", {
      name: "acme svc",
      hook_attributes: { active: false },
      default_permissions: RIGHTS,
    });
    this.installation = this.github.apps.install(this.app, "acme", { repositories: ["site"] });
    const data = Object.fromEntries(
      keys(this.app.pem).map((pem, at) => [at === 0 ? "app-key" : `app-key-${at + 1}`, pem]),
    );
    const catalog = new Catalog(manifestResources([
      JSON.stringify({ kind: "SecretStore", metadata: { name: "acme" }, spec: { data } }),
      JSON.stringify({
        kind: "Connection",
        metadata: { name: "acme" },
        spec: {
          github: {
            api: this.github.url,
            app: {
              id: this.app.id,
              slug: this.app.slug,
              privateKey: { fromSecret: { store: "acme", key: "app-key" } },
            },
          },
        },
      }),
    ].join("\n---\n")));
    this.connection = catalog.find("Connection", "default", "acme") as Connection;
    this.tokens = new ForgeTokens({ catalog, clock: this.clock, secrets: this.secrets });
  }

  /** Gives GitHub the local time, with a difference. */
  tell(differs = 0): void {
    this.#differs = differs;
    this.github.setNow(new Date(this.clock.now() + differs).toISOString());
  }

  async pass(ms: number): Promise<void> {
    await this.clock.advance(ms);
    this.tell();
  }

  token(rights = COMMENT, repository = REPOSITORY): Promise<string> {
    return Promise.resolve(this.tokens.access(this.connection, { repository, rights }).token());
  }

  /** The bodies with which tokens were asked for. */
  asked(): unknown[] {
    return this.github.calls.filter(({ path }) => path.endsWith("/access_tokens"))
      .map(({ body }) => body);
  }

  async refusal(rights = COMMENT, repository = REPOSITORY): Promise<string> {
    try {
      await this.token(rights, repository);
    } catch (error) {
      if (error instanceof AppError) return `${error.code}: ${error.message}`;
      throw error;
    }
    return "";
  }

  [Symbol.asyncDispose]() {
    return this.github[Symbol.asyncDispose]();
  }
}

Deno.test("a token is for one repository and one purpose, and is used while it lasts", async () => {
  await using rig = new Rig();
  const first = await rig.token();
  equal(await rig.token(), first);
  await rig.pass(HOUR_MS - 5 * 60_000 - 1000);
  equal(await rig.token(), first);
  await rig.pass(2000);
  const second = await rig.token();
  ok(second !== first);
  const status = await rig.token({ needs: { statuses: "write" } });
  ok(status !== second);
  deepEqual(rig.asked(), [
    { repositories: ["site"], permissions: { issues: "write" } },
    { repositories: ["site"], permissions: { issues: "write" } },
    { repositories: ["site"], permissions: { statuses: "write" } },
  ]);
});

Deno.test("two callers at once share one token", async () => {
  await using rig = new Rig();
  const [one, other] = await Promise.all([rig.token(), rig.token()]);
  equal(one, other);
  equal(rig.asked().length, 1);
});

Deno.test("a token is hidden from every text until it ends", async () => {
  await using rig = new Rig();
  const token = await rig.token();
  ok(!rig.secrets.redact(`it is ${token}.`).includes(token));
  for (const { path, method } of rig.github.calls) ok(!`${method} ${path}`.includes(token));
  await rig.pass(HOUR_MS + 1000);
  const next = await rig.token();
  ok(!rig.secrets.redact(next).includes(next));
  equal(rig.secrets.redact(token), token); // so that the list of secrets does not grow for ever
});

Deno.test("what an App cannot do is refused with the reason", async (t) => {
  await using rig = new Rig();
  await t.step("another repository of the same account", async () => {
    match(
      await rig.refusal(COMMENT, "acme/other"),
      /^refused: The app acme-svc is not installed on acme\/other: .*acme-svc\/installations\/new$/,
    );
  });
  await t.step("a name that leads elsewhere", async () => {
    match(await rig.refusal(COMMENT, "acme/.."), /^refused: "acme\/\.\." is not the name/);
  });
  await t.step("a right that it lacks", async () => {
    const rights: WantedRights = { needs: { contents: "write", checks: "write" } };
    match(await rig.refusal(rights), /lacks the permission contents=write and checks=write/);
  });
  await t.step("suspended", async () => {
    rig.installation.suspended = true;
    match(await rig.refusal(), /^refused: The app acme-svc is suspended on acme/);
    rig.installation.suspended = false;
  });
  await t.step("removed while its token is in use", async () => {
    const access = rig.tokens.access(rig.connection, { repository: REPOSITORY, rights: COMMENT });
    const path = `/repos/${REPOSITORY}`;
    equal((await callGitHub(access, { path })).ok, true);
    rig.github.apps.installations.splice(0);
    let why = "";
    await callGitHub(access, { path }).catch((error) => why = error.message);
    match(why, /is not installed on acme\/site/);
  });
  equal(rig.asked().length, 1);
});

Deno.test("a token for more than was asked for is refused", async (t) => {
  const cases: readonly (readonly [string, Record<string, unknown>, RegExp])[] = [
    [
      "all rights",
      { permissions: { issues: "write", contents: "write" } },
      /more rights .*contents/,
    ],
    ["no word of rights", { permissions: undefined }, /more rights/],
    ["all repositories", { repositories: undefined }, /not for acme\/site alone/],
    [
      "another one",
      { repositories: [{ full_name: "acme/other" }] },
      /not for acme\/site alone/,
    ],
    [
      "one more",
      { repositories: [{ full_name: REPOSITORY }, { full_name: "acme/other" }] },
      /not for acme\/site alone/,
    ],
    ["a token with a line break", { token: "ghs_a\nb" }, /gave no token/],
    ["no end", { expires_at: null }, /gave no token/],
  ];
  for (const [name, change, expected] of cases) {
    await t.step(name, async () => {
      await using rig = new Rig();
      rig.github.interfere = (call) =>
        call.path.endsWith("/access_tokens")
          ? Response.json({
            token: "ghs_whatever",
            expires_at: new Date(rig.clock.now() + HOUR_MS).toISOString(),
            permissions: { metadata: "read", issues: "write" },
            repositories: [{ full_name: REPOSITORY }],
            ...change,
          }, { status: 201 })
          : undefined;
      match(await rig.refusal(), expected);
    });
  }
});

Deno.test("clocks that differ by an hour", async (t) => {
  for (const differs of [-HOUR_MS, -3 * 60_000, 3 * 60_000, HOUR_MS]) {
    await t.step(`GitHub's is ${differs / 60_000} minutes off`, async () => {
      await using rig = new Rig();
      rig.tell(differs);
      const token = await rig.token();
      equal(await rig.token(), token);
      await rig.clock.advance(HOUR_MS - 60_000);
      rig.tell(differs);
      ok(await rig.token() !== token);
      equal(rig.asked().length, 2);
    });
  }
});

Deno.test("while a key is rotated, either of two is taken", async (t) => {
  const old = newAppKey();
  await t.step("the first was deleted at GitHub", async () => {
    await using rig = new Rig({ keys: (pem) => [old, pem] });
    ok((await rig.token()).startsWith("ghs_"));
    const refused = rig.github.calls.filter(({ status }) => status === 401).length;
    equal(refused, 1);
    await rig.pass(HOUR_MS);
    await rig.token();
    equal(rig.github.calls.filter(({ status }) => status === 401).length, 1, "it is remembered");
  });
  await t.step("both were deleted", async () => {
    await using rig = new Rig({ keys: () => [old, newAppKey()] });
    match(await rig.refusal(), /refuses the token \(A JSON web token could not be decoded\)/);
  });
  await t.step("no key", async () => {
    await using rig = new Rig({ keys: () => ["not a key"] });
    match(await rig.refusal(), /has under "app-key" no RSA key in PEM/);
  });
});
