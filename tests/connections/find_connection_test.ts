/**
 * Which Connection an answer goes through: the one that is named, else the only one that covers the
 * repository; and how its token is read.
 *
 * @module
 */

import { strictEqual as equal, throws } from "node:assert/strict";
import {
  type ConnectionQuery,
  findConnection,
  readToken,
  repositoryOf,
} from "../../src/connections/find_connection.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import type { Resource } from "../../src/resources/resource.ts";

const token = { fromSecret: { store: "s", key: "token" } };

function resource(kind: string, name: string, spec: unknown): Resource {
  const times = { generation: 1, createdAt: 0, updatedAt: 0 };
  return { kind, project: "default", name, metadata: {}, spec, ...times };
}

const CATALOG = new Catalog([
  resource("Connection", "tidepool", {
    github: { repository: "Brightwater/Tidepool", token },
    allow: { targets: ["brightwater/notes"] },
  }),
  resource("Connection", "acme", { github: { organization: "acme", token } }),
  resource("Connection", "acme-app", { github: { repository: "acme/app", token } }),
  resource("Connection", "gl", { gitlab: { project: "Acme/Tools/Site", token } }),
  resource("Connection", "gl-group", { gitlab: { group: "brightwater", token } }),
  resource("Connection", "chat", { slack: { botToken: token } }),
  resource("SecretStore", "s", { data: { token: "ghp_good", bad: "a b", empty: "" } }),
]);

function find(wanted: Partial<ConnectionQuery>): string {
  return findConnection({ project: "default", platform: "github", ...wanted }, CATALOG).name;
}

Deno.test("the only Connection that covers the repository is taken, in any case", () => {
  equal(find({ repository: "brightwater/TIDEPOOL" }), "tidepool");
  equal(find({ repository: "acme/site" }), "acme");
  equal(find({ platform: "slack" }), "chat");
});

Deno.test("a project of GitLab is found by its whole name, in its group or below", () => {
  const at = (repository: string) => find({ platform: "gitlab", repository });
  equal(at("acme/tools/site"), "gl");
  equal(at("Brightwater/a"), "gl-group");
  equal(at("brightwater/a/b"), "gl-group");
  for (const repository of ["acme/tools", "acme/tools/site/x", "acme/site", "brightwater-evil/a"]) {
    throws(() => at(repository), { message: /svc connect gitlab [a-z-]/ }, repository);
  }
  // The same name elsewhere is another repository.
  throws(() => at("acme/app"), { message: /No Connection to gitlab covers acme\/app/ });
  throws(() => find({ repository: "other/tools/site" }), { message: /github OWNER\/REPOSITORY/ });
});

Deno.test("a Connection that is named has to be there, of the platform, and to the repository", () => {
  equal(find({ named: "acme", repository: "acme/app" }), "acme");
  equal(find({ named: "tidepool", repository: "Brightwater/notes" }), "tidepool");
  const refuses = (wanted: Partial<ConnectionQuery>, message: RegExp) =>
    throws(() => find(wanted), { code: "refused", message });
  refuses({ named: "gone" }, /No Connection "gone".*svc connect/);
  refuses({ named: "chat" }, /"chat" is to slack, not to github/);
  refuses({ named: "acme", repository: "brightwater/tidepool" }, /allow\.targets/);
  refuses({ named: "acme", repository: "acme-evil/app" }, /is to acme and not to acme-evil/);
});

Deno.test("none and several are refused, with what there is", () => {
  const refuses = (wanted: Partial<ConnectionQuery>, message: RegExp) =>
    throws(() => find(wanted), { code: "refused", message });
  refuses({ repository: "stranger/app" }, /covers stranger\/app.*"tidepool" is to Brightwater/);
  refuses({ repository: "acme/app" }, /"acme" and "acme-app".*event\.webhook\.connection/);
  refuses({ platform: "line" }, /No Connection to line.*svc connect/);
  refuses({ project: "other", repository: "acme/app" }, /in project "other"/);
});

Deno.test("what answers may go to besides does not make a Connection cover it", () => {
  throws(() => find({ repository: "brightwater/notes" }), { message: /No Connection to github/ });
});

Deno.test("a token is read as it is, or the refusal says how to set it", () => {
  const read = (key: string, store = "s") =>
    readToken({ name: "c", project: "default" }, { fromSecret: { store, key } }, CATALOG);
  equal(read("token"), "ghp_good");
  const refuses = (message: RegExp, ...of: [string, string?]) =>
    throws(() => read(...of), { code: "refused", message });
  refuses(/svc secret set s gone/, "gone");
  refuses(/svc secret set other token/, "token", "other");
  refuses(/no key "toString"/, "toString");
  refuses(/characters that tokens cannot have/, "bad");
  refuses(/characters that tokens cannot have/, "empty");
});

Deno.test("a repository is a text of the payload, or there is none", () => {
  equal(repositoryOf({ repository: { full_name: "a/b" } }), "a/b");
  for (
    const odd of [null, [], "a/b", {}, { repository: "a/b" }, { repository: { full_name: 1 } }]
  ) {
    equal(repositoryOf(odd), undefined);
  }
});
