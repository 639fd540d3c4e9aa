/**
 * Markers: ours are known where they stand, and no others anywhere.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { Markers } from "../../src/outbox/marker.ts";

const PLACE = { project: "default", repository: "brightwater/tidepool", number: 7 };
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
