/**
 * Markers: ours are known where they stand, and no others anywhere.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { FORGES } from "../../src/base/forge_names.ts";
import { Markers } from "../../src/outbox/marker.ts";

const PLACE = {
  forge: "github",
  project: "default",
  repository: "brightwater/tidepool",
  number: 7,
  isPull: false,
} as const;
const MARKED = { taskId: "01JZZZZZZZZZZZZZZZZZ000001", key: "review" };
const markers = new Markers(new Uint8Array(32).fill(1));

Deno.test("a marker is found again at its place, in whatever stands around it", () => {
  const marker = markers.make(PLACE, MARKED);
  deepEqual(markers.find(`text\n\n${marker}`, PLACE), MARKED);
  deepEqual(markers.find(marker, { ...PLACE, repository: "Brightwater/TidePool" }), MARKED);
  deepEqual(markers.find(`<!-- svc ${marker}`, PLACE), MARKED);
});

Deno.test("a marker is none elsewhere, of another daemon, or changed", () => {
  const marker = markers.make(PLACE, MARKED);
  const others = [{ number: 8 }, { repository: "o/r" }, { project: "other" }];
  for (const other of others) equal(markers.find(marker, { ...PLACE, ...other }), undefined);
  equal(new Markers(new Uint8Array(32)).find(marker, PLACE), undefined);
  equal(markers.find(marker.replace("review", "deploy"), PLACE), undefined);
  equal(markers.find(marker.replace(/[0-9a-f] -->/, "g -->"), PLACE), undefined);
  equal(markers.find("no marker", PLACE), undefined);
});

Deno.test("a marker that was made with a former key is known, and new ones are made with the present", () => {
  const [former, present] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
  const now = new Markers(present, [former]);
  deepEqual(now.find(markers.make(PLACE, MARKED), PLACE), MARKED);
  equal(now.make(PLACE, MARKED), new Markers(present).make(PLACE, MARKED));
  equal(new Markers(present).find(markers.make(PLACE, MARKED), PLACE), undefined);
});

const BRANCH = { ...PLACE, branch: "svc/fix-7" };
const PULL = { ...MARKED, trigger: "on-comment", tree: "a".repeat(40), key: "fix/deep.key" };

Deno.test("the marker of a pull request is valid at its branch only, and is none of a comment", () => {
  const marker = markers.makePull(BRANCH, PULL);
  deepEqual(markers.findPull(`text\n\n${marker}`, BRANCH), PULL);
  deepEqual(
    markers.findPull(marker, { ...BRANCH, repository: "Brightwater/TidePool" }),
    PULL,
  );
  const others = [{ branch: "svc/fix-8" }, { repository: "o/r" }, { project: "other" }];
  for (const other of others) equal(markers.findPull(marker, { ...BRANCH, ...other }), undefined);
  for (const [was, is] of [["on-comment", "on-push"], ["aaaa ", "aaab "], ["fix/", "fix-"]]) {
    equal(markers.findPull(marker.replace(`${was}`, `${is}`), BRANCH), undefined, was);
  }
  equal(markers.find(marker, PLACE), undefined);
  equal(markers.findPull(markers.make(PLACE, MARKED), BRANCH), undefined);
});

Deno.test("the trailers of a commit are valid for its tree only", () => {
  const place = { ...PLACE, tree: "b".repeat(40) };
  const trailers = markers.makeTrailers(place, MARKED.taskId);
  const message = `Fix it\n\nBecause\n\n${trailers}\nCo-authored-by: mona <m@example.com>\n`;
  equal(markers.findTask(message, place), MARKED.taskId);
  equal(markers.findTask(message, { ...place, tree: "c".repeat(40) }), undefined);
  equal(markers.findTask(message, { ...place, repository: "o/r" }), undefined);
  equal(markers.findTask(message.replace("000001", "000002"), place), undefined);
  equal(markers.findTask(message.replaceAll("Svc-", "> Svc-"), place), undefined);
});

Deno.test("the markers at GitHub are those of earlier releases", () => {
  const macs = [
    markers.make(PLACE, MARKED),
    markers.make({ ...PLACE, isPull: true }, MARKED),
    markers.makePull(BRANCH, PULL),
    markers.makeTrailers({ ...PLACE, tree: "b".repeat(40) }, MARKED.taskId),
  ].map((marker) => /[0-9a-f]{40}(?= -->|$)/.exec(marker)?.[0]);
  deepEqual(macs, [
    "a7dbd1a2cf490f6ce5d88e6f9a5461376444af67",
    "a7dbd1a2cf490f6ce5d88e6f9a5461376444af67",
    "1b51f21254f8e4f488da54cc3b6a2bd302e23e50",
    "78f50af50424287621e51e05417307c095ad1fe9",
  ]);
});

Deno.test("a marker is none at another forge", () => {
  const tree = "b".repeat(40);
  for (const forge of FORGES) {
    const marker = markers.make({ ...PLACE, forge }, MARKED);
    const pull = markers.makePull({ ...BRANCH, forge }, PULL);
    const trailers = markers.makeTrailers({ ...PLACE, forge, tree }, MARKED.taskId);
    for (const at of FORGES) {
      const is = at === forge;
      equal(markers.find(marker, { ...PLACE, forge: at }) !== undefined, is, `${forge} ${at}`);
      equal(markers.findPull(pull, { ...BRANCH, forge: at }) !== undefined, is, `${forge} ${at}`);
      equal(markers.findTask(trailers, { ...PLACE, forge: at, tree }) !== undefined, is);
    }
  }
});

Deno.test("where issues and merge requests are numbered apart, a marker is of one of them", () => {
  const place = { ...PLACE, forge: "gitlab" } as const;
  const marker = markers.make(place, MARKED);
  deepEqual(markers.find(marker, place), MARKED);
  equal(markers.find(marker, { ...place, isPull: true }), undefined);
  const other = markers.make({ ...place, isPull: true }, MARKED);
  equal(markers.find(other, place), undefined);
});

Deno.test("the trailers in a long message of a stranger are looked for in one pass", () => {
  const place = { ...PLACE, tree: "a".repeat(40) };
  const message = `${`Svc-Task: ${MARKED.taskId}\n`.repeat(30_000)}Svc-Mark: none`;
  const began = performance.now();
  equal(markers.findTask(message, place), undefined);
  equal(performance.now() - began < 3000, true);
});
