/**
 * The project, the token's user and who may write, as GitLab says it.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import { CallFailed } from "../../../src/connections/api/forge.ts";
import { GITLAB } from "../../../src/connections/gitlab/forge.ts";
import { ADA, BOT, fakeGitLab, GITLAB_PROJECT, type GitLabMember } from "../../fakes/gitlab.ts";
import { gitLabProject } from "../../rigs/gitlab_project.ts";
import { missing, skippable } from "../../helpers/requirements.ts";

Deno.test(
  skippable("the token's user and the facts of the project are read", missing("git")),
  async () => {
    await using fake = await fakeGitLab({
      projects: { [GITLAB_PROJECT]: { default_branch: "trunk", archived: true } },
    });
    const at = gitLabProject(fake);
    deepEqual(await at.readOwnUser(), { userId: "4242", login: "svc-bot" });
    const { at: time, ...facts } = await at.readFacts();
    deepEqual(facts, { defaultBranch: "trunk", isArchived: true });
    equal(typeof time, "number");
  },
);

const PERSON = { id: 91, username: "mo" };

/** Who may write: the memberships of a person, and the outcome. */
const MEMBERS: readonly [string, Readonly<Record<string, GitLabMember>>, boolean][] = [
  ["no member", {}, false],
  ["a guest", { [GITLAB_PROJECT]: { access_level: 10 } }, false],
  ["a reporter", { [GITLAB_PROJECT]: { access_level: 20 } }, false],
  ["a developer", { [GITLAB_PROJECT]: { access_level: 30 } }, true],
  ["an owner of the group", { brightwater: { access_level: 50 } }, true],
  ["a developer of the inner group", { "brightwater/harbour": { access_level: 30 } }, true],
  [
    "a guest of the project, a maintainer of the group",
    { [GITLAB_PROJECT]: { access_level: 10 }, brightwater: { access_level: 40 } },
    true,
  ],
  ["a maintainer of another group", { "brightwater/other": { access_level: 40 } }, false],
  [
    "somebody who was asked and has not accepted",
    { [GITLAB_PROJECT]: { access_level: 40, membership_state: "awaiting" } },
    false,
  ],
  [
    "a member until yesterday",
    { [GITLAB_PROJECT]: { access_level: 40, expires_at: "2020-01-01" } },
    false,
  ],
  [
    "a member for some time yet",
    { [GITLAB_PROJECT]: { access_level: 40, expires_at: "2999-01-01" } },
    true,
  ],
];

for (const [name, memberships, mayWrite] of MEMBERS) {
  Deno.test(
    skippable(`${name} ${mayWrite ? "may" : "may not"} write`, missing("git")),
    async () => {
      await using fake = await fakeGitLab({ users: [BOT, ADA, PERSON] });
      for (const [path, member] of Object.entries(memberships)) {
        fake.state.addMember(path, PERSON.id, member);
      }
      const at = gitLabProject(fake);
      equal((await at.permissionOf({ id: "91", login: "mo" })).mayWrite, mayWrite);
    },
  );
}

Deno.test(
  skippable("who may write to a project that the token does not see is not known", missing("git")),
  async () => {
    await using fake = await fakeGitLab();
    const at = gitLabProject(fake, { repository: "brightwater/elsewhere" });
    await rejects(at.permissionOf({ id: "77", login: "ada-pereira" }), CallFailed);
  },
);

Deno.test(skippable("a user who is blocked may not write", missing("git")), async () => {
  await using fake = await fakeGitLab({ users: [BOT, { ...ADA, state: "blocked" }] });
  const { mayWrite, why } = await gitLabProject(fake).permissionOf({ id: "77", login: "ada" });
  deepEqual([mayWrite, why], [false, "the user is not active"]);
});

Deno.test(
  skippable("who may write is not guessed from an id or an answer of another form", missing("git")),
  async () => {
    await using fake = await fakeGitLab();
    const at = gitLabProject(fake);
    for (const id of ["", "0", "-7", "77/../78", "7".repeat(30), "77?x"]) {
      equal((await at.permissionOf({ id, login: "ada-pereira" })).mayWrite, false, id);
    }
    equal(fake.calls.length, 0);
    const good = { id: 77, access_level: 40, state: "active" };
    for (
      const answer of [
        [],
        null,
        { ...good, id: 78 },
        { ...good, id: "77" },
        { ...good, access_level: "40" },
        { ...good, state: undefined },
        { ...good, membership_state: "invited" },
        { ...good, expires_at: "soon" },
        [good],
      ]
    ) {
      fake.interfere = () => Response.json(answer);
      const { mayWrite } = await at.permissionOf({ id: "77", login: "ada-pereira" });
      equal(mayWrite, false, JSON.stringify(answer));
    }
    fake.interfere = () => Response.json(good);
    equal((await at.permissionOf({ id: "77", login: "x" })).mayWrite, true);
    fake.interfere = () => new Response("", { status: 503 });
    await rejects(at.permissionOf({ id: "77", login: "x" }), CallFailed);
  },
);

Deno.test(
  skippable("a text is read as it is now, and is gone when it was deleted", missing("git")),
  async () => {
    await using fake = await fakeGitLab();
    const issue = fake.threads.openIssue(GITLAB_PROJECT, { author: ADA });
    const note = fake.threads.note(issue, ADA, "please fix");
    const at = gitLabProject(fake);
    const text = (id: number, field: readonly string[]) =>
      at.readText({ what: "The comment", path: `/issues/1/notes/${id}`, field, was: "" });
    equal(await text(note.id, ["body"]), "please fix");
    note.body = "/merge";
    equal(await text(note.id, ["body"]), "/merge");
    equal(await text(note.id, ["author", "username"]), "ada-pereira");
    equal(await text(note.id, ["constructor", "name"]), undefined);
    equal(await text(5, ["body"]), undefined);
  },
);

Deno.test(
  skippable("git is at the host of the API, and mails are GitLab's", missing("git")),
  () => {
    const git = (api: string) => GITLAB.gitRemote(api, "a/b/c", "glpat-x");
    deepEqual(git("https://gitlab.com/api/v4"), {
      url: "https://gitlab.com/a/b/c.git",
      authorization: `Basic ${btoa("oauth2:glpat-x")}`,
      needs: "the scope api, and the role Developer of its user",
    });
    equal(
      git("https://x.example:8443/gitlab/api/v4/").url,
      "https://x.example:8443/gitlab/a/b/c.git",
    );
    const mail = (userId: string, api: string) => GITLAB.mailOf({ userId, login: "ada" }, api);
    equal(mail("77", "https://gitlab.com/api/v4"), "77-ada@users.noreply.gitlab.com");
    equal(mail("", "https://git.example:8443/api/v4"), "ada@users.noreply.git.example");
  },
);
