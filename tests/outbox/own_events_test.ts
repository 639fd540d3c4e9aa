/**
 * The guards against loops, as rules: which events are our own, and when a chain ends.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { EventHub } from "../../src/base/event_hub.ts";
import { OwnUsers } from "../../src/connections/own_users.ts";
import { Markers } from "../../src/outbox/marker.ts";
import { type GuardedEvent, OwnEvents } from "../../src/outbox/own_events.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import type { Resource } from "../../src/resources/resource.ts";
import type { TriggerSpec } from "../../src/resources/trigger.ts";
import type { DaemonEvents } from "../../src/store/events.ts";
import { tempStore } from "../helpers/temp_store.ts";

const REPOSITORY = "brightwater/tidepool";
const OWN = 4242;

function resource(kind: string, name: string, spec: Record<string, unknown>): Resource {
  const made = { project: "default", metadata: {}, generation: 1, createdAt: 5, updatedAt: 5 };
  return { kind, name, spec, ...made };
}

const github = (repository: string) => ({
  github: { repository, token: { fromSecret: { store: "s", key: "k" } } },
});

async function guard(options: { readonly known?: boolean; readonly two?: boolean } = {}) {
  const temp = await tempStore();
  const connection = resource("Connection", "tidepool", github(REPOSITORY));
  const second = resource("Connection", "second", github(REPOSITORY));
  const workflow = resource("Workflow", "fix", { may: { github: { pull: { branch: "bot/" } } } });
  const connections = options.two === true ? [connection, second] : [connection];
  const catalog = new Catalog([...connections, workflow]);
  const markers = new Markers(new Uint8Array(32));
  const ownUsers = new OwnUsers(temp.store, { now: () => 0 });
  if (options.known !== false) {
    await ownUsers.learn(connection as never, { userId: String(OWN), login: "bot" });
  }
  const events = new EventHub<DaemonEvents>({ error() {} });
  const incidents: unknown[] = [];
  events.on("incidentHappened", (incident) => void incidents.push(incident.kind));
  const own = new OwnEvents({ catalog, markers, ownUsers, events });
  const trigger = {
    resource: resource("Trigger", "review", {
      event: { source: "webhook" },
    }) as unknown as Resource<TriggerSpec>,
  };
  let last = 0;
  const event = (sender: number, body: string, { number = 7, at = 0 } = {}) => ({
    trigger,
    payload: {
      repository: { full_name: REPOSITORY },
      issue: { number },
      comment: { id: 1, body },
      sender: { id: sender, login: `user-${sender}` },
    },
    delivery: { id: `D${++last}`, receivedAt: at },
  });
  const change = (
    sender: number,
    payload: object,
    { own: pulls = false, name = "review" } = {},
  ) => {
    const webhook = pulls ? { own: "pulls" } : {};
    const spec = { event: { source: "webhook", webhook } };
    return {
      trigger: {
        resource: resource("Trigger", name, spec) as unknown as Resource<TriggerSpec>,
      },
      payload: {
        repository: { full_name: REPOSITORY },
        sender: { id: sender, login: `user-${sender}` },
        ...payload,
      },
      delivery: { id: `D${++last}`, receivedAt: 0 },
    };
  };
  const place = {
    forge: "github",
    project: "default",
    repository: REPOSITORY,
    number: 7,
    isPull: false,
  } as const;
  const marker = markers.make(place, { taskId: "01JZZZZZZZZZZZZZZZZZ000001", key: "review" });
  const task = "01JZZZZZZZZZZZZZZZZZ000001";
  const issueMarker = markers.make({ ...place, number: 0 }, { taskId: task, key: "triage/7/x" });
  return {
    own: {
      whyOwn: (event: GuardedEvent) => own.whyOwn(event)?.reason,
      whyCut: (event: GuardedEvent) => own.whyCut(event),
    },
    event,
    change,
    marker,
    markers,
    issueMarker,
    incidents,
    [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose](),
  };
}

Deno.test("an event is our own when its marker is valid and its sender is our user", async () => {
  await using rig = await guard();
  const { own, event, marker } = rig;
  match(own.whyOwn(event(OWN, `x ${marker}`)) ?? "", /^svc's own comment "review" of task /);
  equal(own.whyOwn(event(7, `x ${marker}`)), undefined, "somebody else edits or copies it");
  equal(own.whyOwn(event(OWN, "x <!-- svc no marker -->")), undefined);
  equal(own.whyOwn(event(OWN, marker, { number: 8 })), undefined, "at another issue");
  for (const payload of [null, [], {}, { comment: 5 }, { comment: { body: 5 } }]) {
    equal(own.whyOwn(Object.assign(event(OWN, marker), { payload })), undefined);
  }
});

Deno.test("what CI says of a commit that svc has pushed is not our own: a wait may end by it", async () => {
  await using rig = await guard();
  const { own, change } = rig;
  const sha = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
  // GitHub names the one who has pushed as the sender; at Gitea a commit has its message beside it.
  const message = `Fix it\n\nSvc-Task: 01JZZZZZZZZZZZZZZZZZ000001\n`;
  const commit = { sha, commit: { message }, message };
  const head = { head_sha: sha, head_branch: "bot/fix-7", head_commit: { id: sha, message } };
  const payloads: Readonly<Record<string, object>> = {
    check_run: { action: "completed", check_run: { head_sha: sha, check_suite: head } },
    check_suite: { action: "completed", check_suite: head },
    workflow_run: { action: "completed", workflow: {}, workflow_run: head },
    workflow_job: { action: "completed", workflow_job: head },
    status: { sha, state: "failure", context: "ci/build", commit, branches: [{ name: "bot/x" }] },
    "workflow_run of Gitea": {
      action: "completed",
      workflow_run: head,
      pull_request: { ...pullOf(rig.markers), body: "x" },
    },
    "status of Gitea": { sha, state: "failure", context: "ci / build (push)", commit },
  };
  for (const [name, payload] of Object.entries(payloads)) {
    equal(own.whyOwn(change(OWN, payload)), undefined, name);
  }
});

const TASK = "01JZZZZZZZZZZZZZZZZZ000001";

/** A pull request of ours, as its events show it. */
function pullOf(markers: Markers, given: { readonly ref?: string; readonly from?: string } = {}) {
  const { ref = "bot/fix-7", from = REPOSITORY } = given;
  const place = {
    forge: "github",
    project: "default",
    repository: REPOSITORY,
    branch: "bot/fix-7",
  } as const;
  const facts = { taskId: TASK, trigger: "maker", key: "fix", tree: "a".repeat(40) };
  const body = `x\n\n${markers.makePull(place, facts)}`;
  return { number: 9, body, head: { ref, repo: { full_name: from } } };
}

Deno.test("what svc does to its own pull request starts nothing, what others do to it does", async () => {
  await using rig = await guard();
  const { own, change, markers } = rig;
  const pull_request = pullOf(markers);
  for (const action of ["opened", "edited", "synchronize", "labeled", "review_requested"]) {
    const why = own.whyOwn(change(OWN, { action, pull_request }));
    match(why ?? "", /^svc's own pull request "fix" of task 01JZ/, action);
    equal(own.whyOwn(change(7, { action, pull_request })), undefined, `${action} of another`);
  }
  equal(own.whyOwn(change(OWN, { action: "closed", pull_request })), undefined);
  const copies = [pullOf(markers, { ref: "other" }), pullOf(markers, { from: "mona/tidepool" })];
  for (const copy of copies) {
    equal(own.whyOwn(change(OWN, { action: "opened", pull_request: copy })), undefined);
  }
});

Deno.test("with own: pulls another trigger gets svc's pull requests, and never the one that made them", async () => {
  await using rig = await guard();
  const { own, change, markers } = rig;
  const payload = { action: "opened", pull_request: pullOf(markers) };
  equal(own.whyOwn(change(OWN, payload, { own: true })), undefined);
  match(own.whyOwn(change(OWN, payload, { own: true, name: "maker" })) ?? "", /own pull request/);
  for (let n = 0; n < 5; n++) equal(own.whyCut(change(OWN, payload, { own: true })), undefined);
  match(own.whyCut(change(OWN, payload, { own: true })) ?? "", /looks like a loop/);
});

Deno.test("the push of a commit of ours starts nothing, that of a copy of its message does", async () => {
  await using rig = await guard();
  const { own, change, markers } = rig;
  const tree = "b".repeat(40);
  const place = { forge: "github", project: "default", repository: REPOSITORY, tree } as const;
  const message = `Fix\n\n${markers.makeTrailers(place, TASK)}\n`;
  const push = (sender: number, head_commit: object) => own.whyOwn(change(sender, { head_commit }));
  match(push(OWN, { message, tree_id: tree }) ?? "", /^svc's own commit of task 01JZ/);
  equal(push(7, { message, tree_id: tree }), undefined);
  equal(push(OWN, { message, tree_id: "c".repeat(40) }), undefined);
  equal(push(OWN, { message: "Fix", tree_id: tree }), undefined);
});

Deno.test("a new branch of our user starts nothing if it begins as a workflow's branches do", async () => {
  await using rig = await guard();
  const { own, change } = rig;
  const made = (sender: number, ref: string, ref_type = "branch") =>
    own.whyOwn(change(sender, { ref, ref_type }));
  match(made(OWN, "bot/fix-7") ?? "", /^svc's own branch bot\/fix-7/);
  equal(made(7, "bot/fix-7"), undefined);
  equal(made(OWN, "svc/fix-7"), undefined);
  equal(made(OWN, "bot/fix-7", "tag"), undefined);
});

Deno.test("reviews and the texts of issues that svc has written are its own, too", async () => {
  await using rig = await guard();
  const { own, event, marker, issueMarker } = rig;
  const why = (sender: number, payload: Record<string, unknown>) =>
    own.whyOwn(Object.assign(event(sender, ""), {
      payload: {
        repository: { full_name: REPOSITORY },
        sender: { id: sender, login: `user-${sender}` },
        ...payload,
      },
    }));
  const review = { action: "submitted", pull_request: { number: 7 }, review: { body: marker } };
  match(why(OWN, review) ?? "", /^svc's own review "review" of task /);
  equal(why(7, review), undefined, "somebody else's");
  equal(why(OWN, { ...review, pull_request: { number: 8 } }), undefined, "at another one");
  const issue = { number: 12, body: `x ${issueMarker}` };
  for (const action of ["opened", "edited"]) {
    match(why(OWN, { action, issue }) ?? "", /^svc's own issue "triage\/7\/x" of task /);
    equal(why(7, { action, issue }), undefined, "somebody else's");
    equal(why(OWN, { action, issue: { number: 7, body: marker } }), undefined, "of a comment");
  }
  equal(why(OWN, { action: "labeled", issue }), undefined, "a label is no text");
  const comment = { body: "nice" };
  equal(why(OWN, { action: "created", issue, comment }), undefined, "a comment there");
});

Deno.test("if our user or the Connection is unknown, the marker is enough", async () => {
  for (const options of [{ known: false }, { two: true }]) {
    await using rig = await guard(options);
    match(rig.own.whyOwn(rig.event(7, rig.marker)) ?? "", /^svc's own comment/);
  }
});

Deno.test("the sixth task that our own user's events start on an issue is cut", async () => {
  await using rig = await guard();
  const { own, event } = rig;
  const cut = (sender: number, given = {}) => own.whyCut(event(sender, "", given)) !== undefined;
  deepEqual([1, 2, 3, 4, 5, 6, 7].map(() => cut(OWN)), [
    false,
    false,
    false,
    false,
    false,
    true,
    true,
  ]);
  deepEqual(rig.incidents, ["loop.cut", "loop.cut"]);
  equal(cut(OWN, { number: 8 }), false, "another issue");
  equal(cut(OWN, { at: 10 * 60_000 }), false, "ten minutes later");
});

Deno.test("another person ends the chain, and an event that is decided twice counts once", async () => {
  await using rig = await guard();
  const { own, event } = rig;
  for (let n = 0; n < 5; n++) own.whyCut(event(OWN, ""));
  equal(own.whyCut(event(7, "")), undefined);
  const again = event(OWN, "");
  for (let n = 0; n < 9; n++) equal(own.whyCut(again), undefined);
});
