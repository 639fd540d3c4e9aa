/**
 * The projects that exist: applied ones, and those of resources.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { projectsOf } from "../../src/resources/projects.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import type { Resource } from "../../src/resources/resource.ts";

function resource(kind: string, project: string, name: string, createdAt: number): Resource {
  return { kind, project, name, metadata: {}, spec: {}, generation: 1, createdAt, updatedAt: 9 };
}

Deno.test("a project is listed when it was applied, and when a resource lives in it", () => {
  const catalog = new Catalog([
    resource("Project", "", "declared", 1),
    resource("Project", "", "team", 2),
    resource("Workflow", "team", "w", 3),
    resource("Workspace", "default", "later", 7),
    resource("Trigger", "default", "first", 4),
    resource("StepTemplate", "default", "between", 5),
  ]);
  deepEqual(
    projectsOf(catalog).map(({ name, generation, createdAt }) => [name, generation, createdAt]),
    [["declared", 1, 1], ["default", 0, 4], ["team", 1, 2]],
  );
});
