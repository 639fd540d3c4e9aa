/**
 * `apply` on a running daemon: all or nothing, every finding at once, and secrets that
 * never touch the disk in clear.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import type { AppError } from "../../src/base/errors.ts";
import { filesBelow } from "../helpers/files.ts";
import { lockDatabase } from "../helpers/sqlite_file.ts";
import { MANIFEST, SECRET } from "../rigs/webhook_rig.ts";
import { type ControlRig, controlTest } from "../rigs/control_rig.ts";
import { cpuMs } from "../helpers/cpu_time.ts";

const WORKFLOW = `
kind: Workflow
metadata: {name: build, labels: {team: a}}
spec: {steps: [{id: one, run: make}]}
`;

/** Findings of an apply that has to be refused. */
async function refusal(work: Promise<unknown>): Promise<AppError> {
  const error = await work.then(() => undefined, (thrown: AppError) => thrown);
  ok(error !== undefined, "it was not refused");
  return error;
}

const names = async ({ client }: ControlRig) =>
  (await Promise.all(
    ["workflows", "workspaces", "secretstores", "triggers", "projects"].map((what) =>
      client.call("get", { what })
    ),
  )).flatMap((listing) => listing.names)
    .filter((name) => name !== "project/default"); // which needs no apply

const actions = (out: { results: readonly { name: string; action: string }[] }) =>
  out.results.map(({ name, action }) => `${name} ${action}`);

controlTest(
  "apply says of each resource whether it was created, configured or unchanged",
  async (rig) => {
    deepEqual(actions(await rig.apply(MANIFEST, WORKFLOW)), [
      "workflow/ci created",
      "workspace/repo created",
      "secretstore/github created",
      "trigger/push created",
      "workflow/build created",
    ]);
    const changed = WORKFLOW.replace("make", "make all");
    deepEqual(actions(await rig.apply(changed, MANIFEST)), [
      "workflow/build configured",
      "workflow/ci unchanged",
      "workspace/repo unchanged",
      "secretstore/github unchanged",
      "trigger/push unchanged",
    ]);
    const reordered = `
spec: {steps: [{run: make all, id: one}]}
metadata: {labels: {team: a}, name: build}
kind: Workflow`;
    deepEqual(actions(await rig.apply(reordered)), ["workflow/build unchanged"]);
    const relabelled = reordered.replace("team: a", "team: b");
    deepEqual(actions(await rig.apply(relabelled)), ["workflow/build configured"]);
    const found = await rig.client.call("describe", { what: "wf", name: "build", reveal: false });
    const { generation, created_at: created, updated_at: updated } = found["status"] as Record<
      string,
      string
    >;
    equal(generation, 3);
    ok((created ?? "") < (updated ?? ""));
  },
);

controlTest("an unchanged resource is not written", async (rig) => {
  await rig.apply(MANIFEST);
  const size = async () => (await Deno.stat(`${rig.dirs.database}-wal`)).size;
  const before = await size();
  await rig.apply(MANIFEST);
  equal(await size(), before);
});

controlTest(
  "an apply with one error changes nothing, and says all that is wrong at once",
  async (rig) => {
    await rig.apply(WORKFLOW);
    const error = await refusal(rig.apply(
      WORKFLOW.replace("make", "changed"),
      `kind: Workspace
metadata: {name: ok}
spec: {path: x}
---
kind: Workspace
metadata: {name: bad}
spec: {paht: x}
---
kind: Nothing
metadata: {name: bad}
spec: {}
`,
      "kind: Workflow\nmetadata: {name: a, name: b}\nspec: {}\n",
      "{",
    ));
    equal(error.code, "invalid");
    match(error.message, /^Nothing was applied: \d errors$/);
    for (
      const finding of [
        /^1\.yaml:7:8: spec\.paht: Unknown field "paht", did you mean "path"\?$/,
        /^1\.yaml:7:1: spec: Missing field "path"$/,
        /^1\.yaml:9:1: kind: Unknown kind "Nothing"/,
        /^2\.yaml:2:21: Duplicate key/,
        /^3\.yaml:\d+:\d+: /,
      ]
    ) {
      ok(
        error.details.some((line) => finding.test(line)),
        `${finding} in ${error.details.join("\n")}`,
      );
    }
    deepEqual(await names(rig), ["workflow/build"]);
    deepEqual(actions(await rig.apply(WORKFLOW)), ["workflow/build unchanged"]);
  },
);

controlTest("an apply that cannot be committed changes nothing, in memory neither", async (rig) => {
  await rig.apply(WORKFLOW);
  const lock = lockDatabase(rig.dirs.database);
  const error = await refusal(rig.apply(WORKFLOW.replace("make", "changed"), MANIFEST));
  equal(error.code, "overloaded");
  deepEqual(await names(rig), ["workflow/build"]);
  lock[Symbol.dispose]();
  deepEqual(actions(await rig.apply(WORKFLOW)), ["workflow/build unchanged"]);
  equal((await rig.apply(MANIFEST)).results.length, 4);
});

controlTest("a dry run says the same and changes nothing", async (rig) => {
  await rig.apply(WORKFLOW);
  const files = [
    { name: "a.yaml", text: MANIFEST },
    { name: "b.yaml", text: WORKFLOW.replace("make", "changed") },
  ];
  const out = await rig.client.call("apply", { files, dry_run: true });
  deepEqual(actions(out), [
    "workflow/ci created",
    "workspace/repo created",
    "secretstore/github created",
    "trigger/push created",
    "workflow/build configured",
  ]);
  deepEqual(await names(rig), ["workflow/build"]);
  await rejects(
    rig.client.call("apply", { files: [{ name: "c.yaml", text: "kind: X" }], dry_run: true }),
    { code: "invalid" },
  );
});

controlTest("the same resource twice in one apply is an error", async (rig) => {
  const error = await refusal(rig.apply(WORKFLOW, WORKFLOW.replace("make", "other")));
  match(error.details.join("\n"), /1\.yaml:\d+:\d+: metadata\.name: workflow\/build .*twice/);
  deepEqual(await names(rig), []);
  const elsewhere = WORKFLOW.replace("{name: build", "{name: build, project: shop");
  equal((await rig.apply(WORKFLOW, elsewhere)).results.length, 2);
});

controlTest("nothing to apply is an error", async (rig) => {
  for (const text of ["", "---\n---\n", "# only a comment\n"]) {
    equal((await refusal(rig.apply(text))).code, "invalid");
  }
  equal((await refusal(rig.client.call("apply", { files: [], dry_run: false }))).code, "invalid");
});

controlTest("a reference to nothing is a warning, and gone once it is there", async (rig) => {
  const [, , , trigger = ""] = MANIFEST.split("---");
  await Deno.mkdir(`${rig.dirs.root}/repo`);
  const { warnings } = await rig.apply(trigger);
  equal(warnings.length, 3);
  match(
    warnings.join("\n"),
    /0\.yaml:5:\d+: spec\.event\.webhook\.secret\.fromRef: SecretStore "github" does not exist: every request is refused with 401/,
  );
  match(warnings.join("\n"), /Workflow "ci" does not exist: its tasks fail/);
  match(warnings.join("\n"), /Workspace "repo" does not exist/);
  deepEqual((await rig.apply(MANIFEST)).warnings, []);
  const elsewhere = trigger.replace("{name: push}", "{name: push, project: shop}");
  equal((await rig.apply(elsewhere)).warnings.length, 3, "another project's are not seen");
});

controlTest("a key that a SecretStore does not have is warned about, and shown", async (rig) => {
  const store = (...keys: string[]) =>
    `kind: SecretStore
metadata: {name: bot}
spec: {data: {${keys.map((key) => `${key}: "a token of some length"`).join(", ")}}}`;
  const workflow = `kind: Workflow
metadata: {name: post}
spec:
  env: {T: {fromSecret: {store: bot, key: token}}}
  steps: [{id: a, run: "true"}]`;
  const said = async (...texts: string[]) => (await rig.apply(...texts)).warnings.join("\n");
  const none = /^0\.yaml:4:\d+: spec\.env\.T\.fromSecret\.store: SecretStore "bot" does not exist/;
  const noKey =
    /^0\.yaml:4:\d+: spec\.env\.T\.fromSecret\.key: SecretStore "bot" has no key "token": tasks that need it fail$/;
  match(await said(workflow), none);
  match(await said(workflow, store("other")), noKey);
  match(await said(workflow), noKey);
  const { status } = await rig.client.call("describe", {
    what: "workflow",
    name: "post",
    reveal: false,
  }) as { status: { missing: string[] } };
  deepEqual(status.missing, ['SecretStore "bot" has no key "token": tasks that need it fail']);
  equal(await said(workflow, store("other", "token")), "");
  equal(await said(workflow), "");
});

controlTest("a trigger without authentication is warned about", async (rig) => {
  const bare = (webhook: string) =>
    `kind: Trigger
metadata: {name: t}
spec: {event: {source: webhook, webhook: ${webhook}}, action: {workflow: ci, workspace: repo}}`;
  await rig.apply(MANIFEST);
  match((await rig.apply(bare("{}"))).warnings.join(), /every request is refused with 401/);
  match((await rig.apply(bare("{allowUnsigned: true}"))).warnings.join(), /Anyone/);
  equal(
    (await refusal(rig.apply(bare("{allowUnsigned: true, secret: {fromRef: github}}")))).code,
    "invalid",
  );
});

controlTest(
  "weak secrets are warned about where they sign, by key and never by value",
  async (rig) => {
    await Deno.mkdir(`${rig.dirs.root}/repo`);
    const weak = MANIFEST.replace(SECRET, "tooshort");
    const { warnings } = await rig.apply(weak);
    equal(warnings.length, 1);
    match(warnings[0] ?? "", /spec\.data\.current: Shorter than 16 bytes/);
    ok(!warnings.join().includes("tooshort"));
    const unused = "kind: SecretStore\nmetadata: {name: other}\nspec: {data: {pin: short1}}";
    deepEqual((await rig.apply(unused)).warnings, []);
  },
);

const BAD_SECRETS: readonly [string, RegExp][] = [
  ['""', /is empty/],
  ['"  "', /is empty/],
  ['"***"', /\*\*\* keeps the stored value/],
  ['"<your-webhook-secret>"', /placeholder/],
  ['"{{ secret }}"', /placeholder/],
  ["123456789012345678", /Expected text/],
  ["987654321.5", /Expected text/],
  ["true", /Expected text/],
  ["null", /Expected text/],
  ["[s3cr3t-in-a-list]", /Expected text/],
  ["1e5", /Expected text/],
];

for (const [value, reason] of BAD_SECRETS) {
  controlTest(`a secret of ${value} is refused by key and never by value`, async (rig) => {
    const text = `kind: SecretStore\nmetadata: {name: s}\nspec: {data: {the_key: ${value}}}`;
    const error = await refusal(rig.apply(text));
    const said = error.details.join("\n");
    match(said, /^0\.yaml:3:15: spec\.data\.the_key: /);
    match(said, reason);
    ok(!/s3cr3t|123456789|987654321|your-webhook/.test(said + rig.logged.join()));
    deepEqual(await names(rig), []);
  });
}

controlTest("a directory's unfilled secrets-template.yaml is skipped with a word", async (rig) => {
  const template = `kind: SecretStore
metadata: {name: github}
spec: {data: {webhook_secret: "<your-webhook-secret>"}}`;
  const file = (fromDirectory: boolean, text = template) => ({
    name: "integrations/github/secrets-template.yaml",
    text,
    ...(fromDirectory ? { fromDirectory } : {}),
  });
  const files = [file(true), { name: "w.yaml", text: WORKFLOW, fromDirectory: true }];
  const out = await rig.client.call("apply", { files, dry_run: false });
  deepEqual(actions(out), ["workflow/build created"]);
  match(out.warnings.join(), /secrets-template\.yaml: skipped/);
  await rejects(rig.client.call("apply", { files: [file(false)], dry_run: false }), {
    code: "invalid",
  });
  const filled = template.replace("<your-webhook-secret>", SECRET);
  deepEqual(
    actions(await rig.client.call("apply", { files: [file(true, filled)], dry_run: false })),
    ["secretstore/github created"],
  );
});

controlTest("--project goes before the document's own, and global kinds have none", async (rig) => {
  const texts = [
    WORKFLOW,
    WORKFLOW.replace("{name: build", "{name: other, project: shop"),
    "kind: Project\nmetadata: {name: shop}",
  ];
  const files = texts.map((text, index) => ({ name: `${index}`, text }));
  const out = await rig.client.call("apply", { files, project: "given", dry_run: false });
  deepEqual(out.results.map(({ name, project }) => [name, project]), [
    ["workflow/build", "given"],
    ["workflow/other", "given"],
    ["project/shop", ""],
  ]);
});

controlTest("documents of other API groups apply as they are, with a word", async (rig) => {
  const own = await rig.apply(`apiVersion: svc/v1\n${WORKFLOW}`);
  deepEqual(own.warnings, []);
  const other = await rig.apply(`apiVersion: example.com/v2\n${WORKFLOW}`);
  deepEqual(actions(other), ["workflow/build unchanged"]);
  match(
    other.warnings.join(),
    /0\.yaml:1:1: apiVersion: "example\.com\/v2" is not known here: read as svc\/v1/,
  );
});

controlTest("many applies at once each count, and none is lost", async (rig) => {
  const outs = await Promise.all(
    Array.from({ length: 30 }, (_, n) => rig.apply(WORKFLOW.replace("make", `make ${n}`))),
  );
  deepEqual(outs.flatMap(actions).filter((one) => one.endsWith("created")).length, 1);
  const found = await rig.client.call("describe", { what: "wf", name: "build", reveal: false });
  equal((found["status"] as { generation: number }).generation, 30);
  await rig.restart();
  deepEqual(await rig.client.call("describe", { what: "wf", name: "build", reveal: false }), found);
});

controlTest("hostile names and keys are data", async (rig) => {
  const error = await refusal(rig.apply(
    'kind: Workflow\nmetadata: {name: "../../etc/passwd"}\nspec: {steps: [{id: a, run: x}]}',
    'kind: Workflow\nmetadata: {name: ok, "__proto__": {x: 1}}\nspec: {steps: [{id: a, run: x}]}',
    `kind: Workspace\nmetadata: {name: x}\nspec: {path: "a\\0b"}`,
  ));
  equal(error.details.length >= 3, true);
  const odd = `kind: SecretStore
metadata: {name: odd, labels: {"__proto__": p, constructor: c}}
spec: {data: {"__proto__": long-enough-secret-1, "a.b/c": long-enough-secret-2, "'; DROP TABLE resources; --": long-enough-secret-3}}`;
  await rig.apply(odd);
  await rig.restart();
  const found = await rig.client.call("describe", { what: "ss", name: "odd", reveal: true });
  deepEqual(Object.entries((found["spec"] as { data: object }).data), [
    ["__proto__", "long-enough-secret-1"],
    ["a.b/c", "long-enough-secret-2"],
    ["'; DROP TABLE resources; --", "long-enough-secret-3"],
  ]);
  equal((({}) as Record<string, unknown>)["x"], undefined);
});

controlTest("a bomb of aliases is refused, and soon", async (rig) => {
  const levels = Array.from(
    { length: 12 },
    (_, n) =>
      `${n === 0 ? "" : ", "}"l${n}": &l${n} [${
        Array(10).fill(n === 0 ? "x" : `*l${n - 1}`).join()
      }]`,
  );
  const started = cpuMs();
  const text = `kind: Workflow\nmetadata: {name: x}\nspec: {${levels.join("")}}`;
  equal((await refusal(rig.apply(text))).code, "invalid");
  ok(cpuMs() - started < 5000);
});

/** Every way a value may be written down by accident. */
function spellings(value: string): string[] {
  const bytes = new TextEncoder().encode(value);
  const base64 = btoa(value);
  return [
    value,
    base64,
    base64.replaceAll("=", ""),
    encodeURIComponent(value),
    [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join(""),
    [...value].reverse().join(""),
    JSON.stringify(value).slice(1, -1),
  ];
}

/** Whether a value stands in any file of a directory, in any spelling. */
function findInFiles(dir: string, value: string): string[] {
  return filesBelow(dir).flatMap(([path, text]) =>
    spellings(value).filter((one) => text.includes(one)).map(() => path)
  );
}

controlTest(
  "no secret stands in clear in any file, while it lives, changes and is gone",
  async (rig) => {
    const [first, second, third] = [
      "f1rst-secret+value/0001",
      "sec0nd-secret+value/002",
      "th1rd-secret+value/0003",
    ];
    const store = (value: string) =>
      `kind: SecretStore\nmetadata: {name: github}\nspec: {data: {key: "${value}"}}`;
    const nowhere = () => {
      for (const value of [first, second, third]) deepEqual(findInFiles(rig.dirs.root, value), []);
    };
    await rig.apply(MANIFEST.replace(/kind: SecretStore[\s\S]*?---\n/, ""), store(first));
    nowhere();
    await rig.apply(store(second));
    nowhere();
    await rig.client.call("secret.rotate", {
      store: "github",
      key: "key",
      value: third,
      create: false,
    });
    nowhere();
    await rig.client.call("get", { what: "ss" });
    await rig.client.call("describe", { what: "ss", name: "github", reveal: true });
    await rig.post("push", '{"a":1}');
    nowhere();
    await rig.restart();
    nowhere();
    const found = await rig.client.call("describe", { what: "ss", name: "github", reveal: true });
    deepEqual(found["spec"], { data: { key: third } });
    await rig.client.call("delete", {
      targets: [{ what: "ss", names: ["github"] }],
      used: "delete",
    });
    nowhere();
    for (const value of [first, second, third]) ok(!rig.logged.join("\n").includes(value));
    ok(findInFiles(rig.dirs.root, "secretstore").length > 0, "the search finds what is there");
  },
);

const hook = (name: string, more: string) => `
kind: Trigger
metadata: {name: ${name}}
spec:
  event: {source: webhook, webhook: {${more}}}
  action: {workflow: ci, workspace: repo}
`;
const HUB = "endpoint: hub, secret: {fromRef: github}, signatureHeader: X-Hub-Signature-256";

controlTest(
  "triggers of one endpoint that differ are refused, in one apply and in two",
  async (rig) => {
    await rig.apply(MANIFEST);
    const both = await refusal(rig.apply(hook("a", HUB), hook("b", `${HUB}, scheme: gitea`)));
    deepEqual([both.code, both.details.length], ["invalid", 1]);
    match(
      both.details[0] ?? "",
      /^0\.yaml:5:\d+: spec\.event\.webhook\.endpoint: Triggers "a" and "b" share the endpoint "hub" and differ in "scheme"/,
    );
    deepEqual((await rig.client.call("get", { what: "triggers" })).names, ["trigger/push"]);
    await rig.apply(hook("a", HUB), hook("b", `${HUB}, dedup: bytes`));
    const stored = await refusal(rig.apply(hook("c", `${HUB}, allowFrom: ["192.0.2.0/24"]`)));
    match(stored.details[0] ?? "", /Triggers "a" and "c" .* "allowFrom"/);
    match(
      (await refusal(rig.apply(hook("push", HUB.replace("hub", "a"))))).details[0] ?? "",
      /Trigger "push" has the endpoint "a", and that is the name of Trigger "a"/,
    );
    deepEqual(
      actions(
        await rig.apply(hook("a", `${HUB}, scheme: gitea`), hook("b", `${HUB}, scheme: gitea`)),
      ),
      ["trigger/a configured", "trigger/b configured"],
      "changed together they agree",
    );
  },
);

controlTest(
  "svc edit is held to the same: one resource, against those that there are",
  async (rig) => {
    await rig.apply(MANIFEST, hook("a", HUB), hook("b", HUB));
    const expected = { kind: "Trigger", project: "default", name: "b", generation: 1 };
    const files = [{ name: "edited.yaml", text: hook("b", `${HUB}, toleranceSecs: 9`) }];
    const error = await refusal(rig.client.call("apply", { files, dry_run: false, expected }));
    match(error.details[0] ?? "", /^edited\.yaml:.*Triggers "a" and "b" .* "toleranceSecs"/);
  },
);
