/**
 * The room of projects with a limit, as one claim gives it.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { isFull, ProjectRooms } from "../../../src/store/rules/project_rooms.ts";

Deno.test("a project is full from its limit on", () => {
  for (const [max, running, full] of [[1, 0, false], [2, 1, false], [1, 1, true], [1, 5, true]]) {
    equal(isFull({ project: "p", max: Number(max), running: Number(running) }), full);
  }
});

/** `a3` is a task of project a. */
const tasks = (names: string) => names.split(" ").map((id) => ({ id, project: id.slice(0, 1) }));

const CASES: readonly (readonly [limits: string, asked: string, given: string])[] = [
  ["", "a1 b2 a3", "a1 b2 a3"],
  ["a:1/0", "a1 b2 a3", "a1 b2"],
  ["a:2/0", "b1 a2 a3 a4", "b1 a2 a3"],
  ["a:2/1 b:1/0", "a1 a2 b3 b4 c5", "a1 b3 c5"],
  ["a:1/1", "a1 b2", "b2"],
  ["a:1/4", "a1 b2", "b2"],
];

for (const [limits, asked, given] of CASES) {
  Deno.test(`with ${limits || "no limit"}, of ${asked} these have room: ${given}`, () => {
    const rooms = new ProjectRooms(
      limits.split(" ").filter((one) => one !== "").map((one) => {
        const [project = "", max, running] = one.split(/[:/]/);
        return { project, max: Number(max), running: Number(running) };
      }),
    );
    deepEqual(rooms.take(tasks(asked)).map(({ id }) => id).join(" "), given);
  });
}

Deno.test("room that was given is gone", () => {
  const rooms = new ProjectRooms([
    { project: "a", max: 3, running: 1 },
    { project: "b", max: 1, running: 2 },
  ]);
  deepEqual([rooms.of("a"), rooms.of("b"), rooms.of("c"), rooms.full()], [2, 0, Infinity, ["b"]]);
  equal(rooms.take(tasks("a1 a2 a3 b4")).length, 2);
  deepEqual([rooms.of("a"), rooms.full()], [0, ["a", "b"]]);
});
