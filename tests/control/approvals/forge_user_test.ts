/** Who a user of a forge is, and who has started a task, as far as somebody vouches for it. */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { identityAt } from "../../../src/control/approvals/forge_user.ts";
import { findStarters } from "../../../src/control/approvals/starters.ts";
import { Catalog } from "../../../src/resources/catalog.ts";
import type { Resource } from "../../../src/resources/resource.ts";
import type { Delivery } from "../../../src/store/delivery_records.ts";

const token = { fromSecret: { store: "tokens", key: "token" } };
const resource = (kind: string, name: string, spec: unknown) =>
  ({
    kind,
    project: kind === "Person" ? "" : "default",
    name,
    spec,
    labels: {},
    createdAt: 0,
  }) as unknown as Resource;

const CATALOG = new Catalog([
  resource("Connection", "own", {
    gitlab: { project: "reef/app", api: "https://git.example.com/api/v4", token },
  }),
  resource("Connection", "hub", { github: { repository: "reef/app", token } }),
  resource("Trigger", "t", { event: { source: "webhook", webhook: {} } }),
  resource("Person", "ada", { role: "read_only", is: ["gitlab:42"] }),
  resource("Person", "bob", { role: "read_only", is: ["gitlab:git.example.com/42"] }),
]);

const at = (changes: Record<string, unknown> = {}) =>
  ({
    project: "default",
    trigger: "t",
    source: "webhook",
    via: "http",
    secretKey: "own",
    detail: { headerNames: [], signed: { payload: "all" } },
    ...changes,
  }) as unknown as Delivery;

const ofGitLab = (host: string) => ({
  object_kind: "note",
  user: { id: 42, username: "bob" },
  project: { path_with_namespace: "reef/app", web_url: `https://${host}/reef/app` },
});
const ofGitHub = (host: string) => ({
  repository: { full_name: "reef/app", html_url: `https://${host}/reef/app` },
  sender: { login: "bob", id: 42, type: "User" },
});

Deno.test("the Connection says at which server a user has a number, never the payload", () => {
  const cases: readonly [string, Delivery, unknown, string | undefined][] = [
    ["its key", at(), ofGitLab("gitlab.com"), "gitlab:git.example.com/42"],
    [
      "another key, its host",
      at({ secretKey: "secret" }),
      ofGitLab("git.example.com"),
      "gitlab:git.example.com/42",
    ],
    ["another key, another host", at({ secretKey: "secret" }), ofGitLab("gitlab.com"), undefined],
    ["GitHub's own", at({ secretKey: "hub" }), ofGitHub("evil.example.com"), "github:42"],
    [
      "Gitea's header",
      at({
        secretKey: "hub",
        detail: { headerNames: ["x-gitea-event"] },
      }),
      ofGitHub("github.com"),
      "gitea:github.com/42",
    ],
    ["no repository", at(), {}, undefined],
    ["no Connection", at({ project: "other" }), ofGitLab("git.example.com"), undefined],
  ];
  for (const [what, delivery, payload, wanted] of cases) {
    equal(identityAt("42", { delivery, payload }, CATALOG), wanted, what);
  }
});

Deno.test("who started a task is known only where a signature covers the payload", async () => {
  const startersOf = async (delivery: Delivery) => {
    const body = new TextEncoder().encode(JSON.stringify(ofGitLab("git.example.com")));
    const task = { id: "T", retryOf: "", parentId: "", deliveryId: "D" };
    const store = {
      findTasks: () => Promise.resolve([task]),
      readDelivery: () => Promise.resolve({ delivery, content: { body, headers: {}, url: "" } }),
    };
    const found = await findStarters("T", { store: store as never, catalog: CATALOG });
    return found.map(({ person, identity }) => person ?? identity);
  };
  deepEqual(await startersOf(at()), ["bob"]);
  deepEqual(await startersOf(at({ detail: { headerNames: [], signed: { payload: [] } } })), [
    undefined,
  ]);
  deepEqual(await startersOf(at({ detail: { headerNames: [] } })), [undefined]);
  deepEqual(await startersOf(at({ via: "internal", source: "files" })), [undefined]);
});

Deno.test("who retried the task above has made its child run, too", async () => {
  const tasks = [
    { id: "C", retryOf: "", parentId: "R", rootId: "R", deliveryId: "" },
    {
      id: "R",
      retryOf: "T",
      parentId: "",
      rootId: "",
      deliveryId: "",
      createdAt: 5,
      retriedBy: { called: "ada", person: "ada" },
    },
    { id: "T", retryOf: "", parentId: "", rootId: "", deliveryId: "" },
  ];
  const store = {
    findTasks: (id: string) => Promise.resolve(tasks.filter((task) => task.id === id)),
  } as unknown as Parameters<typeof findStarters>[1]["store"];
  const startersWith = (since: number) => {
    const ada = { ...resource("Person", "ada", { role: "read_only" }), createdAt: since };
    return findStarters("C", { store, catalog: new Catalog([ada]) });
  };
  deepEqual(await startersWith(5), [{ did: "retried", called: "ada", person: "ada" }]);
  deepEqual(await startersWith(6), [{ did: "retried", called: "ada", isGone: true }], "another");
});
