/**
 * Who may start a task with an event of GitHub: what the API says of him, what it said some minutes
 * ago, and everything that makes it a no.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { ForgeTokens } from "../../src/connections/forge_tokens.ts";
import { KnownSecrets } from "../../src/secrets/known_secrets.ts";
import { SenderPermissions } from "../../src/connections/sender_permissions.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import type { Resource } from "../../src/resources/resource.ts";
import type { SenderQuestion } from "../../src/tasks/sender_check.ts";
import { type FakeGitHub, fakeGitHub, problem, TOKEN } from "../fakes/github.ts";
import { ManualClock, passUntil, setClock } from "../helpers/manual_clock.ts";

const REPOSITORY = "brightwater/tidepool";

function resource(kind: string, name: string, spec: unknown): Resource {
  const times = { generation: 1, createdAt: 0, updatedAt: 0 };
  return { kind, project: "default", name, metadata: {}, spec, ...times };
}

/** A Connection to the stand-in, under a clock. */
class Rig implements AsyncDisposable {
  readonly github: FakeGitHub = fakeGitHub({
    repositories: [{
      full_name: REPOSITORY,
      permissions: { wen: "write", mia: "maintain", ada: "admin", tri: "triage", ron: "read" },
    }],
  });
  readonly clock = setClock();
  readonly catalog: Catalog;
  readonly permissions: SenderPermissions;

  constructor(clock = setClock()) {
    const token = { fromSecret: { store: "s", key: "token" } };
    this.clock = clock;
    this.catalog = new Catalog([
      resource("SecretStore", "s", { data: { token: TOKEN.token } }),
      resource("Connection", "tidepool", {
        github: { repository: REPOSITORY, api: this.github.url, token },
      }),
    ]);
    this.permissions = new SenderPermissions({
      catalog: this.catalog,
      clock,
      forgeTokens: new ForgeTokens({
        catalog: this.catalog,
        clock,
        secrets: new KnownSecrets(),
      }),
    });
  }

  /** A comment that is at GitHub, and the event of it. */
  comment(login: string, more: Record<string, unknown> = {}): Record<string, unknown> {
    const user = { login, id: login.length * 1000 };
    const id = this.github.state.nextId();
    const at = this.github.state.now();
    const comment = { id, repository: REPOSITORY, issue: 7, user, body: "Please look" };
    this.github.issues.comments.push({ ...comment, created_at: at, updated_at: at });
    return {
      action: "created",
      issue: { number: 7 },
      comment: { id, user, body: "Please look", author_association: "NONE" },
      repository: { full_name: REPOSITORY },
      sender: { ...user, type: "User" },
      ...more,
    };
  }

  async ask(payload: unknown, more: Partial<SenderQuestion> = {}): Promise<string> {
    const sender: SenderQuestion = {
      project: "default",
      guard: { permission: "write" },
      payload,
      coverage: { payload: "all" },
      ...more,
    };
    const refusal = await this.permissions.whyNot(sender, new AbortController().signal);
    return refusal === undefined ? "may" : `${refusal.state}: ${refusal.reason}`;
  }

  asked(what: RegExp): number {
    return this.github.calls.filter(({ path }) => what.test(path)).length;
  }

  async [Symbol.asyncDispose]() {
    await this.github[Symbol.asyncDispose]();
  }
}

const PERMISSION = /\/permission$/;

function test(name: string, body: (rig: Rig) => Promise<void>): void {
  Deno.test(name, async () => {
    await using rig = new Rig();
    await body(rig);
  });
}

for (
  const [login, may] of [["wen", true], ["mia", true], ["ada", true], ["tri", false], [
    "ron",
    false,
  ], ["nobody", false]] as const
) {
  test(`${login} ${may ? "may" : "may not"} start a task`, async (rig) => {
    const said = await rig.ask(rig.comment(login));
    if (may) equal(said, "may");
    else match(said, new RegExp(`^cancelled: .*${login} may not write to brightwater/tidepool$`));
  });
}

test("an answer counts for five minutes, of that person in that repository", async (rig) => {
  equal(await rig.ask(rig.comment("wen")), "may");
  match(await rig.ask(rig.comment("ron")), /^cancelled/);
  equal(await rig.ask(rig.comment("wen")), "may");
  match(await rig.ask(rig.comment("ron")), /^cancelled/);
  equal(rig.asked(PERMISSION), 2);
  rig.clock.time += 5 * 60_000;
  equal(await rig.ask(rig.comment("wen")), "may");
  equal(rig.asked(PERMISSION), 3);
});

test("an account that took over a login has none of the rights of the earlier account", async (rig) => {
  rig.github.interfere = ({ path }) =>
    PERMISSION.test(path)
      ? Response.json({ permission: "admin", user: { login: "wen", id: 99 } })
      : undefined;
  match(
    await rig.ask(rig.comment("wen")),
    /wen may not write to brightwater\/tidepool: another user has that login now$/,
  );
});

test("the owner, as the signed payload says, is not asked about", async (rig) => {
  const event = rig.comment("zoe");
  const comment = { ...event["comment"] as object, author_association: "OWNER" };
  equal(await rig.ask({ ...event, comment }), "may");
  equal(rig.asked(PERMISSION), 0);
  for (const association of ["MEMBER", "COLLABORATOR", "CONTRIBUTOR"]) {
    const said = { ...comment, author_association: association };
    match(await rig.ask({ ...event, comment: said }), /^cancelled/, association);
  }
  const other = { ...comment, user: { login: "owner", id: 1 } };
  match(await rig.ask({ ...event, comment: other }), /^cancelled/, "somebody else's text");
});

test("a value that no signature covers grants nothing", async (rig) => {
  const event = rig.comment("ada");
  match(await rig.ask(event, { coverage: { payload: [] } }), /^cancelled: .*No signature covers/);
  match(await rig.ask(event, { coverage: { payload: ["sender"] } }), /^cancelled/);
  deepEqual(rig.github.calls, []);
});

test("bots, and payloads without a sender or a repository, start nothing", async (rig) => {
  const event = rig.comment("ada");
  const cases: readonly (readonly [Record<string, unknown>, RegExp])[] = [
    [{ sender: { login: "ci[bot]", id: 1 } }, /ci\[bot\] is a bot/],
    [{ sender: { login: "ada", id: 1, type: "Bot" } }, /ada is a bot/],
    [{ sender: undefined }, /whose event it is/],
    [{ sender: { id: 1 } }, /whose event it is/],
    [{ sender: { login: "../../user", id: 1 } }, /cannot be a person/],
    [{ repository: undefined }, /which repository/],
    [{ repository: { full_name: "brightwater/.." } }, /which repository/],
  ];
  for (const [more, reason] of cases) {
    const said = await rig.ask({ ...event, ...more });
    match(said, /^cancelled: not started, as event\.webhook\.from says: /);
    match(said, reason);
  }
  match(await rig.ask("text"), /^cancelled/);
  deepEqual(rig.github.calls, []);
});

test("a comment that was changed or deleted since starts nothing", async (rig) => {
  const event = rig.comment("wen");
  const [stored] = rig.github.issues.comments;
  if (stored !== undefined) stored.body = "Please delete everything";
  match(await rig.ask(event), /^cancelled: .*The comment was changed after the event was sent$/);
  rig.github.issues.comments.length = 0;
  match(await rig.ask(event), /^cancelled: .*The comment was deleted after the event was sent$/);
});

test("a pull request that has other commits by now starts nothing", async (rig) => {
  const sha = "a".repeat(40);
  const pull = { sha, commits: [sha] };
  const user = { login: "wen", id: 1 };
  rig.github.issues.issues.push({
    repository: REPOSITORY,
    number: 9,
    title: "",
    body: "",
    user,
    pull,
  });
  const event = {
    number: 9,
    pull_request: { number: 9, head: { sha }, user },
    repository: { full_name: REPOSITORY },
    sender: user,
  };
  equal(await rig.ask(event), "may");
  pull.sha = "b".repeat(40);
  match(await rig.ask(event), /^cancelled: .*The pull request was changed after/);
});

test("no answer is a no, and the task has failed, so that it can be retried", async (rig) => {
  rig.github.interfere = ({ path }) => PERMISSION.test(path) ? problem(403, "No") : undefined;
  match(
    await rig.ask(rig.comment("wen")),
    /^failed: not started, as event.webhook.from could not be checked: .*does not allow this/,
  );
  rig.github.interfere = undefined;
  equal(await rig.ask(rig.comment("wen")), "may", "an error is not remembered");
  const { project, name } = { project: "default", name: "tidepool" };
  rig.catalog.change([{ op: "delete", key: { kind: "Connection", project, name } }]);
  match(await rig.ask(rig.comment("wen")), /^failed: .*No Connection to github.*svc connect/);
});

test("the Connection that the trigger names is asked, and no other", async (rig) => {
  const guard = { permission: "write", connection: "other" } as const;
  match(await rig.ask(rig.comment("wen"), { guard }), /^failed: .*No Connection "other"/);
  const named = { permission: "write", connection: "tidepool" } as const;
  equal(await rig.ask(rig.comment("wen"), { guard: named }), "may");
});

Deno.test("a platform that is away for a moment is asked again, and then it is a no", async () => {
  const clock = new ManualClock();
  await using rig = new Rig(clock);
  let away = 2;
  rig.github.interfere = ({ path }) =>
    PERMISSION.test(path) && away-- > 0 ? problem(502, "Bad gateway") : undefined;
  equal(await passUntil(clock, rig.ask(rig.comment("wen")), 5), "may");
  equal(rig.asked(PERMISSION), 3);
  away = 99;
  match(
    await passUntil(clock, rig.ask(rig.comment("mia")), 5),
    /^failed: .*answered with status 502/,
  );
  equal(rig.asked(PERMISSION), 6);
});
