/**
 * How long keys count: a day, or as long as the log reaches back that a Connection reads.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { Triggers } from "../../src/intake/admission/triggers.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import type { GitHubSpec } from "../../src/resources/connection.ts";
import { dedupTimesIn } from "../../src/resources/dedup_times.ts";
import type { Resource } from "../../src/resources/resource.ts";

const DAY = 24 * 3600 * 1000;

function resource(kind: string, name: string, spec: unknown): Resource {
  const times = { generation: 1, createdAt: 0, updatedAt: 0 };
  return { kind, project: "default", name, metadata: {}, spec, ...times };
}

function connection(more: Partial<GitHubSpec> = {}, rest: Record<string, unknown> = {}): Resource {
  const token = { fromSecret: { store: "s", key: "token" } };
  const hooks = [{ endpoint: "github", id: 1 }];
  const github = { repository: "brightwater/tidepool", token, hooks, ...more };
  return resource("Connection", `c${JSON.stringify(more).length}`, { github, ...rest });
}

function trigger(name: string, endpoint?: string): Resource {
  return resource("Trigger", name, {
    event: { source: "webhook", webhook: endpoint === undefined ? {} : { endpoint } },
    action: { workflow: "w", workspace: "default" },
  });
}

/** Days that keys of the triggers `push` (at `github`) and `other` count, and all are kept. */
function days(...connections: readonly Resource[]): number[] {
  const catalog = new Catalog([trigger("push", "github"), trigger("other"), ...connections]);
  const triggers = new Triggers(catalog);
  const of = (name: string) =>
    triggers.dedupTimesOf(triggers.find({ project: "default", trigger: name }));
  const [push, other] = [of("push"), of("other")];
  deepEqual(push.dedupKeepMs, other.dedupKeepMs);
  deepEqual(dedupTimesIn(catalog).others, other);
  return [push.dedupWindowMs, other.dedupWindowMs, push.dedupKeepMs].map((ms) => ms / DAY);
}

Deno.test("keys count for a day where no log is read", () => {
  deepEqual(days(), [1, 1, 1]);
  deepEqual(days(connection({}, { repair: { every: 0 } })), [1, 1, 1]);
  deepEqual(days(connection({ hooks: [] })), [1, 1, 1]);
});

Deno.test("keys of an endpoint count as long as its log reaches back, and a day more", () => {
  deepEqual(days(connection()), [4, 1, 4]);
  deepEqual(days(connection({ api: "https://git.example/api/v3" })), [8, 1, 8]);
  deepEqual(days(connection({ events: "pull" }, { repair: { every: 0 } })), [4, 1, 4]);
  deepEqual(days(connection(), connection({ api: "https://git.example/api/v3" })), [8, 1, 8]);
});

Deno.test("a Connection of another project changes how long keys are kept, not what they count", () => {
  deepEqual(days({ ...connection(), project: "shop" }), [1, 1, 4]);
});

Deno.test("a Connection that is applied later counts from then on", () => {
  const catalog = new Catalog([trigger("push", "github")]);
  const triggers = new Triggers(catalog);
  const push = () => triggers.find({ project: "default", trigger: "push" });
  deepEqual(triggers.dedupTimesOf(push()).dedupWindowMs, DAY);
  catalog.change([{ op: "put", resource: connection() }]);
  deepEqual(triggers.dedupTimesOf(push()).dedupWindowMs, 4 * DAY);
});
