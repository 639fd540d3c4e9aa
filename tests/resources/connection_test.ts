/**
 * Kind `Connection`: one platform each, fields of one platform only, and defaults.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import {
  apiUrlOf,
  connection,
  type ConnectionSpec,
  repairEverySecs,
} from "../../src/resources/connection.ts";
import { compileSchema } from "../../src/resources/validate.ts";

const token = { fromSecret: { store: "s", key: "token" } };
const app = { id: 12, slug: "svc", privateKey: token };
const REPOSITORY = { repository: "brightwater/tidepool", token };

/** What the checks say of a spec, as `level path: message`. */
function findings(spec: ConnectionSpec): string[] {
  return (connection.checks ?? []).flatMap((check) => check(spec)).map(
    ({ level, path, message }) => `${level} ${path.join(".")}: ${message}`,
  );
}

Deno.test("a Connection to a repository or an organization has no fault", () => {
  deepEqual(findings({ github: REPOSITORY }), []);
  deepEqual(findings({ github: { organization: "brightwater", token } }), []);
});

Deno.test("a Connection to a project or a group of GitLab has no fault", () => {
  deepEqual(findings({ gitlab: { project: "acme/tools/site", token } }), []);
  const group: ConnectionSpec = { gitlab: { group: "acme/tools", token } };
  deepEqual(findings({ ...group, allow: { targets: ["other/site"], outputs: [] } }), []);
  deepEqual(findings({ ...group, repair: { every: "1m" } }), []);
  equal(apiUrlOf(group), "https://gitlab.com/api/v4");
});

Deno.test("a Connection to a project has no name that leads elsewhere", () => {
  const schema = compileSchema(connection.spec);
  const isTaken = (gitlab: unknown) => schema.check({ gitlab }).length === 0;
  for (const project of ["a/b", "a/b/c", "A.b/c-d_e", "_a/.b"]) ok(isTaken({ project, token }));
  for (
    const project of [
      "a",
      "a/../b",
      "../b",
      "a/..",
      "a//b",
      "/a/b",
      "a/b/",
      "a/b?x",
      "a/%2e",
      "-a/b",
      "a/b\n",
    ]
  ) ok(!isTaken({ project, token }), project);
});

Deno.test("a Connection to an app has no fault, whatever it is for", () => {
  deepEqual(findings({ github: { app } }), []);
  deepEqual(findings({ github: { app, organization: "acme" } }), []);
  deepEqual(findings({ github: { app, repositories: ["acme/a", "acme/b"] } }), []);
  deepEqual(findings({ github: { app, hooks: [{ endpoint: "github", id: 12 }] } }), []);
});

for (
  const [name, spec, found] of [
    [
      "neither token nor app",
      { github: { repository: "a/b" } },
      "a token or an app, found neither",
    ],
    ["token and app", { github: { ...REPOSITORY, app } }, "a token or an app, found both"],
    ["an app with one repository", { github: { app, repository: "a/b" } }, "repositories: [a/b]"],
    [
      "an app with an organization and repositories",
      { github: { app, organization: "acme", repositories: ["acme/a"] } },
      "found both",
    ],
    [
      "a token with repositories",
      { github: { token, organization: "acme", repositories: ["acme/a"] } },
      "Only an app covers a list",
    ],
    [
      "an app with another webhook",
      { github: { app, hooks: [{ endpoint: "github", id: 13 }] } },
      "hooks: [{endpoint: github, id: 12}]",
    ],
    ["a project and a group", { gitlab: { project: "a/b", group: "a", token } }, "found both"],
    ["neither project nor group", { gitlab: { token } }, "names a project or a group"],
    [
      "a target that GitHub has not",
      { github: REPOSITORY, allow: { targets: ["a/b/c"] } },
      "allow.targets.0: Expected a repository: OWNER/NAME",
    ],
    [
      "a target that GitLab has not",
      { gitlab: { group: "a", token }, allow: { targets: ["a/b/c", "-a/b"] } },
      "allow.targets.1: Expected a repository: GROUP/PROJECT",
    ],
    ["no platform", {}, "found none"],
    [
      "two platforms",
      { github: REPOSITORY, line: { channelAccessToken: token } },
      "github and line",
    ],
    ["neither repository nor organization", { github: { token } }, "found neither"],
    ["both", { github: { ...REPOSITORY, organization: "brightwater" } }, "found both"],
    ["repair of Slack", { slack: { botToken: token }, repair: { every: "5m" } }, "remove it"],
    [
      "targets of LINE",
      { line: { channelAccessToken: token }, allow: { targets: [] } },
      "remove it",
    ],
    [
      "outputs of LINE",
      { line: { channelAccessToken: token }, allow: { outputs: [] } },
      "remove it",
    ],
    ["a socket without its token", {
      slack: { botToken: token, events: "socket", endpoint: "slack" },
    }, "xapp-"],
    ["a socket without an endpoint", {
      slack: { botToken: token, events: "socket", appToken: token },
    }, '"endpoint"'],
    [
      "a token in the clear",
      { github: { ...REPOSITORY, api: "http://git.example" } },
      "unencrypted",
    ],
  ] satisfies [string, ConnectionSpec, string][]
) {
  Deno.test(`a Connection has findings about ${name}`, () => {
    const all = findings(spec);
    equal(all.length, 1, all.join("\n"));
    ok(all[0]?.includes(found), all[0]);
  });
}

Deno.test("an API on this machine may be spoken to in the clear", () => {
  for (const host of ["127.0.0.1:3000", "localhost", "[::1]:3000"]) {
    deepEqual(findings({ github: { ...REPOSITORY, api: `http://${host}/api/v1` } }), []);
  }
});

Deno.test("an API has its default, and no slash at its end", () => {
  equal(apiUrlOf({ github: REPOSITORY }), "https://api.github.com");
  equal(
    apiUrlOf({ github: { ...REPOSITORY, api: "https://git.example/api/v1/" } }),
    "https://git.example/api/v1",
  );
  equal(apiUrlOf({ line: { channelAccessToken: token } }), "https://api.line.me");
});

Deno.test("repair is each five minutes, as written, or never", () => {
  equal(repairEverySecs({ github: REPOSITORY }), 300);
  equal(repairEverySecs({ github: REPOSITORY, repair: { every: "1h" } }), 3600);
  equal(repairEverySecs({ github: REPOSITORY, repair: { every: 0 } }), undefined);
  equal(repairEverySecs({ github: REPOSITORY, repair: { every: "0" } }), undefined);
});

Deno.test("the schema refuses a value that is neither a repository nor a URL", () => {
  const schema = compileSchema(connection.spec);
  const fits = (github: unknown) => schema.check({ github }).length === 0;
  ok(fits(REPOSITORY));
  for (const repository of ["tidepool", "a/b/c", "a/ b", "", "https://github.com/a/b"]) {
    ok(!fits({ ...REPOSITORY, repository }), repository);
  }
  for (const api of ["api.github.com", "ftp://git.example", "https://git.example/?a=b", ""]) {
    ok(!fits({ ...REPOSITORY, api }), api);
  }
});

Deno.test("allow of a Connection has targets, outputs, or both, and only outputs there are", () => {
  const schema = compileSchema(connection.spec);
  const fits = (allow: unknown) => schema.check({ github: REPOSITORY, allow }).length === 0;
  for (
    const allow of [{ targets: ["a/b"] }, { outputs: [] }, { targets: [], outputs: ["pull"] }]
  ) ok(fits(allow), JSON.stringify(allow));
  for (const allow of [{ outputs: ["merge"] }, { outputs: "pull" }, { output: [] }]) {
    ok(!fits(allow), JSON.stringify(allow));
  }
});
