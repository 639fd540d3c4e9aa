/**
 * Who may start a task with an event of GitLab: what its API says of the user that the signed payload
 * names, and everything that makes it a no.
 *
 * @module
 */

import { match, strictEqual as equal } from "node:assert/strict";
import { ForgeTokens } from "../../../src/connections/forge_tokens.ts";
import { SenderPermissions } from "../../../src/connections/sender_permissions.ts";
import { Catalog } from "../../../src/resources/catalog.ts";
import type { Resource } from "../../../src/resources/resource.ts";
import { KnownSecrets } from "../../../src/secrets/known_secrets.ts";
import type { SenderQuestion } from "../../../src/tasks/sender_check.ts";
import { BOT, type FakeGitLab, fakeGitLab, GITLAB_TOKEN, problem } from "../../fakes/gitlab.ts";
import { setClock } from "../../helpers/manual_clock.ts";
import { missing, skippable } from "../../helpers/requirements.ts";

const GROUP = "brightwater";
const PROJECT = `${GROUP}/harbour/tidepool`;
const SHA = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const IDS = { dev: 30, guest: 10, reporter: 20, planner: 15, maintainer: 40, owner: 50 };
const MEMBERS = /\/members\/all\//;

function resource(kind: string, name: string, spec: unknown): Resource {
  const times = { generation: 1, createdAt: 0, updatedAt: 0 };
  return { kind, project: "default", name, metadata: {}, spec, ...times };
}

/** A Connection to the stand-in, under a clock; what is written on the issue and the merge request with number 5. */
class Rig implements AsyncDisposable {
  readonly gitlab: FakeGitLab;
  readonly clock = setClock();
  readonly permissions: SenderPermissions;
  /** What paths below the project answer with; the others are not found. */
  readonly texts = new Map<string, unknown>();

  constructor(gitlab: FakeGitLab) {
    this.gitlab = gitlab;
    const token = { fromSecret: { store: "s", key: "token" } };
    const catalog = new Catalog([
      resource("SecretStore", "s", { data: { token: GITLAB_TOKEN.token } }),
      resource("Connection", "harbour", { gitlab: { group: GROUP, api: gitlab.url, token } }),
    ]);
    const { clock } = this;
    const forgeTokens = new ForgeTokens({ catalog, clock, secrets: new KnownSecrets() });
    this.permissions = new SenderPermissions({ catalog, clock, forgeTokens });
    gitlab.interfere = ({ path }) => {
      const below = /\/projects\/[^/]+(\/(?:issues|merge_requests|repository)\/.*)$/.exec(path)
        ?.[1];
      if (below === undefined) return undefined;
      return this.texts.has(below)
        ? Response.json(this.texts.get(below))
        : problem(404, "404 Not found");
    };
  }

  /** A comment that is at GitLab, and the event of it. */
  note(id: number, more: Record<string, unknown> = {}): Record<string, unknown> {
    this.texts.set("/issues/5/notes/90", { id: 90, body: "Please look" });
    return {
      object_kind: "note",
      user: { id, username: this.gitlab.state.users.get(id)?.username ?? "nobody" },
      project: { id: 7, path_with_namespace: PROJECT },
      object_attributes: { id: 90, note: "Please look" },
      issue: { iid: 5 },
      ...more,
    };
  }

  async ask(payload: unknown, more: Partial<SenderQuestion> = {}): Promise<string> {
    const question: SenderQuestion = {
      project: "default",
      guard: { permission: "write" },
      payload,
      coverage: { payload: "all" },
      ...more,
    };
    const refusal = await this.permissions.whyNot(question, new AbortController().signal);
    return refusal === undefined ? "may" : `${refusal.state}: ${refusal.reason}`;
  }

  asked(what: RegExp): number {
    return this.gitlab.calls.filter(({ path }) => what.test(path)).length;
  }

  [Symbol.asyncDispose]() {
    return this.gitlab[Symbol.asyncDispose]();
  }
}

const PROJECT_BOT = { id: 900, username: "project_7_bot_0a1b" };
const OF_GROUP = { id: 901, username: "of-group" };
const BLOCKED = { id: 902, username: "blocked", state: "blocked" } as const;

function test(name: string, body: (rig: Rig) => Promise<void>): void {
  Deno.test(skippable(name, missing("git")), async () => {
    const people = Object.entries(IDS).map(([username, id]) => ({ id, username }));
    await using rig = new Rig(
      await fakeGitLab({
        users: [BOT, PROJECT_BOT, OF_GROUP, BLOCKED, ...people],
        projects: { [PROJECT]: {} },
        members: {
          [GROUP]: { [OF_GROUP.id]: 30 },
          [PROJECT]: {
            [BOT.id]: 40,
            [PROJECT_BOT.id]: 40,
            [BLOCKED.id]: 40,
            ...Object.fromEntries(people.map(({ id }) => [id, id])),
          },
        },
      }),
    );
    await body(rig);
  });
}

for (const [username, id] of Object.entries({ ...IDS, stranger: 666 })) {
  const may = id >= 30 && id <= 50;
  test(`a ${username} of GitLab ${may ? "may" : "may not"} start a task`, async (rig) => {
    const said = await rig.ask(rig.note(id));
    if (may) equal(said, "may");
    else match(said, /^cancelled: not started, as .* may not write to brightwater\/harbour\/tidep/);
  });
}

test("a developer of the group may start a task, a blocked one may not", async (rig) => {
  equal(await rig.ask(rig.note(OF_GROUP.id)), "may");
  match(await rig.ask(rig.note(BLOCKED.id)), /^cancelled: .*blocked may not write/);
});

test("the bot of a project's token starts nothing, whatever its role", async (rig) => {
  match(await rig.ask(rig.note(PROJECT_BOT.id)), /^cancelled: .*project_7_bot_0a1b is a bot$/);
  equal(rig.gitlab.calls.length, 0);
});

test("the id of the user counts, and not the name that the payload gives", async (rig) => {
  const event = rig.note(IDS.guest, { user: { id: IDS.guest, username: "owner" } });
  match(await rig.ask(event), /^cancelled: .*owner may not write/);
  const nameless = rig.note(IDS.dev, { user: { id: IDS.dev } });
  match(await rig.ask(nameless), /^cancelled: .*cannot be a person's$/, "a bot has no other mark");
  match(await rig.ask(rig.note(IDS.dev, { user: undefined })), /^cancelled: .*whose event it is$/);
});

test("a request with the plain token of the webhook starts nothing", async (rig) => {
  match(
    await rig.ask(rig.note(IDS.owner), { coverage: { payload: [] } }),
    /^cancelled: .*No signature covers the payload.*: give the webhook at GitLab a signing token/,
  );
  equal(rig.gitlab.calls.length, 0);
});

test("an answer of GitLab counts for five minutes, of that person in that project", async (rig) => {
  equal(await rig.ask(rig.note(IDS.dev)), "may");
  rig.gitlab.state.addMember(PROJECT, IDS.dev, { access_level: 20 });
  equal(await rig.ask(rig.note(IDS.dev)), "may");
  equal(rig.asked(MEMBERS), 1);
  rig.clock.time += 5 * 60_000;
  match(await rig.ask(rig.note(IDS.dev)), /^cancelled/);
});

test("a note that was changed or deleted since starts nothing", async (rig) => {
  const event = rig.note(IDS.dev);
  rig.texts.set("/issues/5/notes/90", { id: 90, body: "Please delete everything" });
  match(await rig.ask(event), /^cancelled: .*The comment was changed after the event was sent$/);
  rig.texts.clear();
  match(await rig.ask(event), /^cancelled: .*The comment was deleted after the event was sent$/);
});

test("a merge request that has other commits by now starts nothing", async (rig) => {
  const merge_request = { iid: 5, last_commit: { id: SHA } };
  const event = rig.note(IDS.dev, { issue: undefined, merge_request });
  rig.texts.set("/merge_requests/5/notes/90", { id: 90, body: "Please look" });
  rig.texts.set("/merge_requests/5", { iid: 5, sha: SHA });
  equal(await rig.ask(event), "may");
  rig.texts.set("/merge_requests/5", { iid: 5, sha: "5".repeat(40) });
  match(await rig.ask(event), /^cancelled: .*The merge request was changed after the event/);
});

test("the comment under a member's reaction must be as it was", async (rig) => {
  const event = rig.note(IDS.dev, {
    object_kind: "emoji",
    object_attributes: { id: 1, name: "robot" },
    note: { id: 90, note: "Please look" },
  });
  equal(await rig.ask(event), "may");
  rig.texts.set("/issues/5/notes/90", { id: 90, body: "Please delete everything" });
  match(await rig.ask(event), /^cancelled: .*The comment was changed/);
});

test("no answer of GitLab is a no, and the task has failed", async (rig) => {
  const event = rig.note(IDS.dev);
  const ended = rig.gitlab.tokens[0];
  if (ended !== undefined) ended.ended = "expired";
  match(await rig.ask(event), /^failed: not started, as event.webhook.from could not be checked: /);
});

test("a payload that both forges could read starts nothing", async (rig) => {
  const event = rig.note(IDS.dev, {
    repository: { full_name: "brightwater/tidepool" },
    sender: { login: "dev", id: 30 },
  });
  match(await rig.ask(event), /^cancelled: .*which repository it is about$/);
});
