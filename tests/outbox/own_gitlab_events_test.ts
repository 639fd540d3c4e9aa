/**
 * Which events of GitLab are svc's own, where issues and merge requests are numbered apart, pushes name
 * no tree, and reactions are events.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { EventHub } from "../../src/base/event_hub.ts";
import { OwnUsers } from "../../src/connections/own_users.ts";
import { Markers } from "../../src/outbox/marker.ts";
import { OwnEvents } from "../../src/outbox/own_events.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import type { Resource } from "../../src/resources/resource.ts";
import type { TriggerSpec } from "../../src/resources/trigger.ts";
import type { DaemonEvents } from "../../src/store/events.ts";
import { tempStore } from "../helpers/temp_store.ts";

const PROJECT = "brightwater/harbour/tidepool";
const FORK = "mallory/tidepool";
const OWN = 4242;
const STRANGER = 666;
const TASK = "01JZZZZZZZZZZZZZZZZZ000001";
const SHA = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

function resource(kind: string, name: string, spec: Record<string, unknown>): Resource {
  const made = { project: "default", metadata: {}, generation: 1, createdAt: 5, updatedAt: 5 };
  return { kind, name, spec, ...made };
}

type Payload = Record<string, unknown>;

async function guard({ known = true } = {}) {
  const temp = await tempStore();
  const token = { fromSecret: { store: "s", key: "k" } };
  const connection = resource("Connection", "tidepool", { gitlab: { project: PROJECT, token } });
  // Ids of users at GitHub and GitLab have nothing to do with each other.
  const other = resource("Connection", "elsewhere", {
    github: { repository: "brightwater/tidepool", token },
  });
  const markers = new Markers(new Uint8Array(32));
  const ownUsers = new OwnUsers(temp.store, { now: () => 0 });
  if (known) await ownUsers.learn(connection as never, { userId: String(OWN), login: "bot" });
  await ownUsers.learn(other as never, { userId: String(STRANGER), login: "bot" });
  const catalog = new Catalog([connection, other]);
  const events = new EventHub<DaemonEvents>({ error() {} });
  const own = new OwnEvents({ catalog, markers, ownUsers, events });
  let last = 0;
  const event = (sender: number, payload: Payload, { name = "review", pulls = false } = {}) => {
    const spec = { event: { source: "webhook", webhook: pulls ? { own: "pulls" } : {} } };
    const user = payload["object_kind"] === "push"
      ? { user_id: sender, user_username: `user-${sender}` }
      : { user: { id: sender, username: `user-${sender}` } };
    return {
      trigger: { resource: resource("Trigger", name, spec) as unknown as Resource<TriggerSpec> },
      payload: { project: { id: 7, path_with_namespace: PROJECT }, ...user, ...payload },
      delivery: { id: `D${++last}`, receivedAt: 0 },
    };
  };
  const place = {
    forge: "gitlab",
    project: "default",
    repository: PROJECT,
    number: 5,
    isPull: true,
  } as const;
  return {
    markers,
    place,
    why: (sender: number, payload: Payload, given = {}) =>
      own.whyOwn(event(sender, payload, given))?.reason,
    own: (sender: number, payload: Payload) => own.whyOwn(event(sender, payload)),
    cut: (sender: number, payload: Payload) => own.whyCut(event(sender, payload)),
    [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose](),
  };
}

const noteOn = (thread: "issue" | "merge_request", iid: number, note: string): Payload => ({
  object_kind: "note",
  object_attributes: { id: 1, note },
  [thread]: { iid },
});

Deno.test("svc's own note starts nothing on its merge request, and only there", async () => {
  await using rig = await guard();
  const marker = rig.markers.make(rig.place, { taskId: TASK, key: "review" });
  match(rig.why(OWN, noteOn("merge_request", 5, `x ${marker}`)) ?? "", /^svc's own comment "revi/);
  equal(rig.why(STRANGER, noteOn("merge_request", 5, marker)), undefined, "a copy of the marker");
  equal(rig.why(OWN, noteOn("issue", 5, marker)), undefined, "the issue of the same number");
  equal(rig.why(OWN, noteOn("merge_request", 6, marker)), undefined, "another merge request");
  const atGitHub = rig.markers.make({ ...rig.place, forge: "github" }, { taskId: TASK, key: "x" });
  equal(rig.why(OWN, noteOn("merge_request", 5, atGitHub)), undefined, "a marker of GitHub");
  equal(rig.why(OWN, noteOn("merge_request", 5, "/svc fix")), undefined, "a note by hand");
});

Deno.test("an issue that svc has opened or changed starts nothing", async () => {
  await using rig = await guard();
  const place = { ...rig.place, number: 0, isPull: false };
  const description = rig.markers.make(place, { taskId: TASK, key: "triage/7/x" });
  const issue = (action: string) => ({
    object_kind: "issue",
    object_attributes: { iid: 12, action, description },
  });
  for (const action of ["open", "update"]) {
    match(rig.why(OWN, issue(action)) ?? "", /^svc's own issue "triage\/7\/x" of task /);
    equal(rig.why(STRANGER, issue(action)), undefined, `${action} of another`);
  }
  equal(rig.why(OWN, issue("close")), undefined, "svc closes none");
});

/** An event of a merge request of svc's. */
function pull(markers: Markers, action: string, more: Payload = {}): Payload {
  const place = {
    forge: "gitlab",
    project: "default",
    repository: PROJECT,
    branch: "svc/fix-7",
  } as const;
  const facts = { taskId: TASK, trigger: "maker", key: "fix", tree: "a".repeat(40) };
  return {
    object_kind: "merge_request",
    object_attributes: {
      iid: 9,
      action,
      source_branch: "svc/fix-7",
      source_project_id: 7,
      target_project_id: 7,
      description: `x\n\n${markers.makePull(place, facts)}`,
      ...more,
    },
  };
}

Deno.test("what svc does to its own merge request starts nothing, what others do to it does", async () => {
  await using rig = await guard();
  const { markers, why } = rig;
  for (const action of ["open", "update"]) {
    match(why(OWN, pull(markers, action)) ?? "", /^svc's own merge request "fix" of task 01JZ/);
    equal(why(STRANGER, pull(markers, action)), undefined, `${action} of another`);
  }
  equal(why(OWN, pull(markers, "merge")), undefined, "svc merges none");
  equal(why(OWN, pull(markers, "open", { source_branch: "other" })), undefined, "a copy");
  equal(why(OWN, pull(markers, "open", { source_project_id: 8 })), undefined, "one of a fork");
});

Deno.test("with own: pulls another trigger gets svc's merge requests, and never the one that made them", async () => {
  await using rig = await guard();
  const { markers, why } = rig;
  const message = `Fix\n\nSvc-Task: ${TASK}\nSvc-Mark: ${"a".repeat(40)}`;
  const pushed = { oldrev: SHA, last_commit: { id: SHA, message } };
  for (const payload of [pull(markers, "open"), pull(markers, "update", pushed)]) {
    equal(why(OWN, payload, { pulls: true }), undefined);
    match(why(OWN, payload, { pulls: true, name: "maker" }) ?? "", /own merge request/);
  }
});

Deno.test("a push by svc's own user with svc's trailers starts nothing, a copy of them does", async () => {
  const message = `Fix\n\nSvc-Task: ${TASK}\nSvc-Mark: ${"a".repeat(40)}\n`;
  const push = (commits: readonly Payload[]): Payload => ({
    object_kind: "push",
    ref: "refs/heads/svc/fix-7",
    checkout_sha: SHA,
    commits,
  });
  const ours = push([{ id: "5".repeat(40), message: "A" }, { id: SHA, message }]);
  const onTheirs = {
    object_kind: "merge_request",
    object_attributes: {
      iid: 9,
      action: "update",
      oldrev: "5".repeat(40),
      description: "Mine",
      source_branch: "topic",
      source_project_id: 7,
      target_project_id: 7,
      last_commit: { id: SHA, message },
    },
  };
  await using rig = await guard();
  for (const payload of [ours, onTheirs]) {
    match(rig.why(OWN, payload) ?? "", new RegExp(`^svc's own commit of task ${TASK}`));
    equal(rig.why(STRANGER, payload), undefined, "a stranger's commit with the same message");
  }
  equal(rig.why(OWN, push([{ id: SHA, message: "By hand" }])), undefined);
  equal(rig.why(OWN, push([{ id: "5".repeat(40), message }])), undefined, "not the newest");
  await using unknown = await guard({ known: false });
  equal(unknown.why(OWN, ours), undefined, "nothing else proves whose it is");
});

Deno.test("svc's own reaction, approval and status start nothing, those of others do", async () => {
  const payloads: readonly Payload[] = [
    { object_kind: "emoji", object_attributes: { name: "eyes" }, issue: { iid: 5 } },
    { object_kind: "merge_request", object_attributes: { iid: 5, action: "approved" } },
    { object_kind: "pipeline", object_attributes: { source: "external", sha: SHA } },
  ];
  await using rig = await guard();
  await using unknown = await guard({ known: false });
  for (const payload of payloads) {
    match(rig.why(OWN, payload) ?? "", /^svc's own (reaction|approval|status): it starts nothing/);
    equal(rig.why(STRANGER, payload), undefined);
    equal(unknown.why(OWN, payload), undefined);
  }
});

Deno.test("what CI says of a commit of svc's may end a wait, also in the name of svc", async () => {
  await using rig = await guard();
  for (const source of ["push", "merge_request_event", "web", "parent_pipeline"]) {
    for (const status of ["running", "success", "failed"]) {
      const attributes = { source, status, sha: SHA };
      const pipeline = { object_kind: "pipeline", object_attributes: attributes };
      equal(rig.own(OWN, pipeline), undefined, `${source} ${status}`);
    }
  }
  equal(rig.own(OWN, { object_kind: "build", sha: SHA, build_status: "failed" }), undefined);
  // A status from outside has made the pipeline: that of svc, and then those of CI.
  const external = { source: "external", status: "failed", sha: SHA };
  deepEqual(rig.own(OWN, { object_kind: "pipeline", object_attributes: external }), {
    reason: "svc's own status: it starts nothing",
    mayEndWaits: true,
  });
  const reaction = { object_kind: "emoji", object_attributes: { name: "eyes" }, issue: { iid: 5 } };
  deepEqual(rig.own(OWN, reaction), { reason: "svc's own reaction: it starts nothing" });
});

Deno.test("a payload of a fork that names svc's user is not svc's own", async () => {
  await using rig = await guard();
  const project = { id: 8, path_with_namespace: FORK };
  const marker = rig.markers.make(rig.place, { taskId: TASK, key: "review" });
  const reaction = { object_kind: "emoji", issue: { iid: 5 }, project };
  const note = { ...noteOn("merge_request", 5, marker), project };
  for (const payload of [reaction, note]) equal(rig.why(OWN, payload), undefined);
});

Deno.test("the sixth task that svc's user starts on an issue is cut, apart from the merge request", async () => {
  await using rig = await guard();
  const onIssue = noteOn("issue", 5, "again");
  for (let n = 0; n < 5; n++) equal(rig.cut(OWN, onIssue), undefined);
  match(rig.cut(OWN, onIssue) ?? "", /on brightwater\/harbour\/tidepool#5 .* looks like a loop$/);
  const onPull = noteOn("merge_request", 5, "again");
  for (let n = 0; n < 5; n++) equal(rig.cut(OWN, onPull), undefined);
  match(rig.cut(OWN, onPull) ?? "", /on brightwater\/harbour\/tidepool!5 /);
  equal(rig.cut(STRANGER, onIssue), undefined);
  equal(rig.cut(OWN, onIssue), undefined, "somebody else has said something");
});
