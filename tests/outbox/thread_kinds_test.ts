/**
 * Comments, labels, issues, reactions and statuses, by the rules that hold at every forge: each is there
 * once, and is renewed; nothing of a stranger is taken for svc's own, or has an effect.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { FORGES } from "../../src/base/forge_names.ts";
import { commentKinds } from "../../src/outbox/comment.ts";
import { issueKinds } from "../../src/outbox/issue.ts";
import { labelKinds } from "../../src/outbox/label.ts";
import type { MessageKind } from "../../src/outbox/message_kind.ts";
import { reactionKinds } from "../../src/outbox/reaction.ts";
import { statusKinds } from "../../src/outbox/status.ts";
import { forgeSending, kindAt } from "../rigs/forge_sending.ts";
import { THREAD_FAKES } from "../rigs/forge_threads.ts";
import { missing, skippable } from "../helpers/requirements.ts";

const SENT = { result: "sent", externalId: "" };

for (const name of FORGES) {
  /** A forge, and one kind of messages to it. */
  const rig = async (kinds: readonly MessageKind[]) => {
    const forge = await THREAD_FAKES[name]();
    const sending = await forgeSending(kindAt(name, kinds), forge);
    let seen = 0;
    return {
      ...forge,
      ...sending,
      /** How many calls that change something there were since the last time. */
      written() {
        const calls = forge.calls.slice(seen).filter(({ method }) => method !== "GET");
        seen = forge.calls.length;
        return calls.length;
      },
      async [Symbol.asyncDispose]() {
        await sending[Symbol.asyncDispose]();
        await forge[Symbol.asyncDispose]();
      },
    };
  };

  const comment = (target: object, text: string, more: object = {}) => ({
    target: { ...target },
    key: "review",
    body: { text, format: "markdown" },
    ...more,
  });
  const firstLine = ({ body = "" }: { readonly body?: string } = {}) => body.split("\n")[0];

  Deno.test(
    skippable(
      `${name}: the next comment of a key is the same one, and a new one once it is gone`,
      missing("git"),
    ),
    async () => {
      await using forge = await rig(commentKinds);
      const { target } = forge;
      const sent = await forge.send(comment(target, "one, @mona"));
      const [first] = forge.comments();
      deepEqual(sent, { result: "sent", externalId: first?.id });
      equal(firstLine(first), "one, @\u200bmona");
      const previousId = first?.id ?? "";
      deepEqual(await forge.send(comment(target, "two", { previousId })), sent);
      deepEqual(forge.comments().map(firstLine), ["two"]);
      forge.comments()[0]?.end();
      const third = await forge.send(comment(target, "three", { previousId }));
      deepEqual(third, { result: "sent", externalId: forge.comments()[0]?.id });
      deepEqual(forge.comments().map(firstLine), ["three"]);
    },
  );

  Deno.test(
    skippable(
      `${name}: a comment that may have arrived is found by its key, the newest of them`,
      missing("git"),
    ),
    async () => {
      await using forge = await rig(commentKinds);
      const given = comment(forge.target, "x", { uncertainSince: forge.clock.now() });
      deepEqual(await forge.find(given), { result: "absent" });
      await forge.send(given);
      await forge.send(given);
      const [, newest] = forge.comments();
      deepEqual(await forge.find(given), { result: "found", externalId: newest?.id });
      deepEqual(await forge.find({ ...given, key: "other" }), { result: "absent" });
      for (const one of forge.comments()) one.giveAway();
      deepEqual(await forge.find(given), { result: "absent" }, "somebody else has copied it");
    },
  );

  Deno.test(
    skippable(`${name}: labels come and go, also a second time`, missing("git")),
    async () => {
      await using forge = await rig(labelKinds);
      const change = (label: string, set: boolean) =>
        forge.send({ target: { ...forge.target, label }, key: "label", body: { set } });
      for (let time = 0; time < 2; time++) deepEqual(await change("area/docs", true), SENT);
      deepEqual([...forge.labels()].toSorted(), ["area/docs", "bug"]);
      for (let time = 0; time < 2; time++) deepEqual(await change("bug", false), SENT);
      deepEqual(forge.labels(), ["area/docs"]);
      forge.written();
      const refused = await change("urgent", true);
      match(JSON.stringify(refused), /"refused".*has no label \\"urgent\\"/, "it is not made");
      equal(forge.written(), 0);
    },
  );

  Deno.test(
    skippable(`${name}: a label of an issue that is gone is refused`, missing("git")),
    async () => {
      await using forge = await rig(labelKinds);
      const target = { ...forge.target, number: 99, label: "bug" };
      for (const set of [true, false]) {
        equal((await forge.send({ target, body: { set } })).result, "refused");
      }
    },
  );

  const BODY = {
    workflow: "triage",
    asker: "octocat",
    title: "[svc] Flaky",
    text: "Failed, @mona",
    labels: ["automated"],
    asked: [] as string[],
    open: 2,
  };
  const issue = (key: string, more: Partial<typeof BODY> = {}, previousId = "") => ({
    target: {},
    key: `triage/42/${key}`,
    body: { ...BODY, ...more },
    previousId,
  });

  Deno.test(
    skippable(
      `${name}: an issue is renewed while it is open, and new once it is closed`,
      missing("git"),
    ),
    async () => {
      await using forge = await rig(issueKinds);
      const sent = await forge.send(issue("a"));
      const [made] = forge.issues();
      const externalId = made?.id ?? "";
      deepEqual(sent, { result: "sent", externalId });
      deepEqual([made?.title, made?.labels, firstLine(made)], [
        "[svc] Flaky",
        ["automated"],
        "Failed, @\u200bmona",
      ]);
      match(
        made?.body ?? "",
        /\n\nMade by svc: workflow triage, task \S+, asked for by octocat\n\n<!-- /,
      );
      deepEqual(await forge.send(issue("a", { title: "Still flaky" }, externalId)), sent);
      deepEqual(forge.issues().map(({ title }) => title), ["Still flaky"]);
      forge.issues()[0]?.end();
      await forge.send(issue("a", {}, externalId));
      equal(forge.issues().length, 2);
    },
  );

  Deno.test(
    skippable(
      `${name}: an issue that may have arrived is found by its marker, while it is open`,
      missing("git"),
    ),
    async () => {
      await using forge = await rig(issueKinds);
      deepEqual(await forge.find(issue("a")), { result: "absent" });
      const sent = await forge.send(issue("a"));
      deepEqual(await forge.find(issue("a")), { ...sent, result: "found" });
      deepEqual(await forge.find(issue("other")), { result: "absent" });
      forge.issues()[0]?.end();
      deepEqual(await forge.find(issue("a")), { result: "absent" });
    },
  );

  Deno.test(
    skippable(`${name}: an issue of somebody else with our marker is not found`, missing("git")),
    async () => {
      await using forge = await rig(issueKinds);
      await forge.send(issue("a"));
      forge.issues()[0]?.giveAway();
      deepEqual(await forge.find(issue("a")), { result: "absent" });
    },
  );

  Deno.test(
    skippable(`${name}: no more issues of a workflow are open than it may have`, missing("git")),
    async () => {
      await using forge = await rig(issueKinds);
      for (const key of ["a", "b"]) equal((await forge.send(issue(key))).result, "sent");
      const said = `may.${name}.issue of Workflow \\"triage\\" allows 2 open issues (open)`;
      const refused = JSON.stringify(await forge.send(issue("c")));
      equal(refused.includes(said) && refused.includes('"refused"'), true, refused);
      const other = { ...issue("c", { workflow: "triage-2" }), key: "triage-2/42/c" };
      equal((await forge.send(other)).result, "sent", "of another workflow");
      const [first] = forge.issues();
      equal((await forge.send(issue("a", {}, first?.id))).result, "sent", "renewed");
      first?.end();
      equal((await forge.send(issue("c"))).result, "sent", "one was closed");
    },
  );

  Deno.test(
    skippable(
      `${name}: a label of a step must be there, one of the workflow is made`,
      missing("git"),
    ),
    async () => {
      await using forge = await rig(issueKinds);
      const refused = await forge.send(issue("a", { asked: ["urgent"] }));
      match(JSON.stringify(refused), /"refused".*has no label \\"urgent\\": make it there/);
      equal(forge.written(), 0);
      equal((await forge.send(issue("a", { labels: ["new"], asked: ["bug"] }))).result, "sent");
      deepEqual([...forge.issues()[0]?.labels ?? []].toSorted(), ["bug", "new"]);
    },
  );

  Deno.test(
    skippable(`${name}: a reaction that is there is no error`, missing("git")),
    async () => {
      await using forge = await rig(reactionKinds);
      const given = { target: { to: `issues/${forge.target.number}` }, body: { content: "eyes" } };
      for (let time = 0; time < 2; time++) deepEqual(await forge.send(given), SENT);
      deepEqual(forge.reactions(), ["eyes"]);
    },
  );

  Deno.test(
    skippable(
      `${name}: a status stays on its first commit, and its text is one line`,
      missing("git"),
    ),
    async () => {
      await using forge = await rig(statusKinds);
      const files = { "a.txt": "a\n" };
      const sha = await forge.git.commit(forge.repository, "topic", files, { from: "main" });
      await forge.openPull("topic");
      const set = (state: string, description: string, more: object = {}) =>
        forge.send({
          target: { context: "svc/review", sha },
          body: { state, description },
          ...more,
        });
      for (let time = 0; time < 2; time++) {
        deepEqual(await set("pending", "runs"), { result: "sent", externalId: sha });
      }
      const target = { context: "svc/review", pull: 77 };
      const after = await set("success", `a\nb ${"x".repeat(200)}`, { target, previousId: sha });
      deepEqual(after, { result: "sent", externalId: sha });
      const [of, state, description = ""] = forge.statuses().at(-1) ?? [];
      deepEqual([of, state, description.length, description.slice(0, 4)], [
        sha,
        "success",
        140,
        "a b ",
      ]);
    },
  );

  Deno.test(
    skippable(`${name}: a commit that a step names has to be one of the pull`, missing("git")),
    async () => {
      await using forge = await rig(statusKinds);
      const { git, repository } = forge;
      const main = await git.find(repository, "main") ?? "";
      const head = await git.commit(repository, "topic", { "a.txt": "a\n" }, { from: "main" });
      const pull = await forge.openPull("topic");
      const set = (more: object) =>
        forge.send({ target: { context: "c", pull, ...more }, body: { state: "failure" } });
      const refused = await set({ sha: main });
      match(
        JSON.stringify(refused),
        /"refused".*is not a commit of (pull request #|merge request !)\d/,
      );
      for (const more of [{}, { sha: head }]) {
        deepEqual(await set(more), { result: "sent", externalId: head });
      }
    },
  );
}

Deno.test(
  skippable(
    "a marker of an issue at GitLab is none on the merge request of its number",
    missing("git"),
  ),
  async () => {
    const forge = await THREAD_FAKES.gitlab();
    await using _fake = forge;
    await using sending = await forgeSending(kindAt("gitlab", commentKinds), forge);
    await forge.git.commit(forge.repository, "topic", { "a.txt": "a\n" }, { from: "main" });
    equal(await forge.openPull("topic"), forge.target.number);
    const on = (on: string) => ({
      target: { ...forge.target, on },
      key: "review",
      body: { text: "x", format: "markdown" },
    });
    await sending.send(on("issue"));
    const [{ body = "" } = {}] = forge.comments();
    // svc's own user, by whatever way, writes the same text on the other thread
    const api = `${forge.url}${forge.path}/merge_requests/${forge.target.number}/notes`;
    const headers = { "private-token": forge.token, "content-type": "application/json" };
    const copied = await fetch(api, { method: "POST", headers, body: JSON.stringify({ body }) });
    equal(copied.status, 201, await copied.text());
    equal((await sending.find(on("issue"))).result, "found");
    deepEqual(await sending.find(on("merge_request")), { result: "absent" });
  },
);

Deno.test(
  skippable("no text of a stranger runs a quick action at GitLab", missing("git")),
  async () => {
    const forge = await THREAD_FAKES.gitlab();
    await using _fake = forge;
    await using comments = await forgeSending(kindAt("gitlab", commentKinds), forge);
    const quick = [
      "/merge",
      "/assign @ada",
      "```\n/close\n```",
      "````\n/close\n````",
      "> x\n/lock",
      "-->\r\n/close",
    ];
    for (const format of ["markdown", "text"]) {
      for (const text of quick) {
        const given = {
          target: { ...forge.target },
          key: "k",
          body: { text: `x\n${text}\ny`, format },
        };
        equal((await comments.send(given)).result, "sent");
      }
    }
    await using issues = await forgeSending(kindAt("gitlab", issueKinds), forge);
    const body = {
      workflow: "w",
      asker: "",
      title: "/close",
      text: quick.join("\n"),
      labels: [],
      asked: [],
      open: 9,
    };
    equal((await issues.send({ target: {}, body })).result, "sent");
    deepEqual(forge.executed(), []);
  },
);
