/**
 * The control plane's socket: what is answered to whom.
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
import { OPERATIONS } from "../../src/api/operations.ts";
import { type Role, ROLES } from "../../src/base/roles.ts";
import { defined } from "../../src/base/defined.ts";
import { newKeyFile } from "../../src/secrets/keyring.ts";
import { until } from "../helpers/until.ts";
import { type ControlRig, controlRig, controlTest } from "../rigs/control_rig.ts";

/** Connections that are about to close would look like leaks. */
const LOOSE = { sanitizeOps: false, sanitizeResources: false };

const WORKFLOW = "kind: Workflow\nmetadata: {name: a}\nspec: {steps: [{id: a, run: x}]}";
const APPLY = JSON.stringify({ files: [{ name: "a", text: WORKFLOW }], dry_run: false });

const code = async (answer: ReturnType<ControlRig["raw"]>) => (await answer).json["code"];

controlTest("the socket is for its owner alone", async ({ dirs }) => {
  equal(((await Deno.stat(dirs.socket)).mode ?? 0) & 0o777, 0o600);
  equal(((await Deno.stat(dirs.controlPlane)).mode ?? 0) & 0o777, 0o700);
});

controlTest("an unknown operation is not found, and any path but /v1/… is none", async (rig) => {
  const paths = ["/v1/nonsense", "/v1/constructor", "/v1/__proto__", "/v1/", "/", "/v2/status"];
  for (const path of [...paths, "/v1/status/x", "/v1/Status", "/v1/%73tatus"]) {
    const { status, json } = await rig.raw(path, { body: "{}" });
    deepEqual([status, json["code"]], [404, "not_found"], path);
  }
});

controlTest("operations are called by POST, and a refusal says so", async (rig) => {
  for (const method of ["GET", "PUT", "DELETE"]) {
    const { status, json } = await rig.raw("/v1/status", { method });
    deepEqual([status, json["detail"]], [405, "Use POST for operations"], method);
  }
});

controlTest("an input of another shape is refused with what was found, and where", async (rig) => {
  const refused = async (name: string, input: unknown) => {
    const { json } = await rig.raw(`/v1/${name}`, { body: JSON.stringify(input) });
    return [json["code"], json["detail"], json["details"] ?? []];
  };
  deepEqual(await refused("get", { what: "task", limit: 1.5 }), [
    "invalid",
    'Invalid input for "get": limit: Expected an integer, found the number 1.5',
    [],
  ]);
  deepEqual(await refused("task.wait", { ids: [7], colour: "red" }), [
    "invalid",
    'Invalid input for "task.wait": colour: Unknown field "colour", known here: ids, timeout_secs',
    ["ids.0: Expected a text, found the number 7"],
  ]);
});

controlTest("a body that is no JSON object is refused", async (rig) => {
  for (const body of ["", "null", "[]", "1", "{", "{}{}", "[".repeat(100_000)]) {
    const { status, json } = await rig.raw("/v1/status", { body });
    deepEqual([status, json["code"]], [400, "invalid"], body.slice(0, 20));
  }
  equal((await rig.raw("/v1/status", { body: "{}" })).status, 200);
});

const STRANGE: readonly unknown[] = [
  {},
  { what: null, name: null, names: null, files: null, id: null, store: null },
  { what: 1, name: 2, names: 3, files: 4, id: 5, store: 6, key: 7, value: 8 },
  { what: {}, name: [], names: {}, files: {}, id: {}, body: {}, headers: [] },
  { what: "wf", names: [1, null], files: [null], id: ["x"], limit: "x" },
  { files: [{}], dry_run: "yes", project: 7 },
  { what: "task", limit: -1, since_secs: "x" },
  { what: "task", limit: 1.5 },
  { what: "task", limit: 1e300 },
];

Deno.test("a body of another shape is refused, and not answered as a bug", LOOSE, async (t) => {
  await using rig = await controlRig();
  for (const name of Object.keys(OPERATIONS)) {
    await t.step(name, async () => {
      for (const input of STRANGE) {
        const { status, json } = await rig.raw(`/v1/${name}`, { body: JSON.stringify(input) });
        ok(status < 500, `${status} ${json["code"]} to ${JSON.stringify(input)}`);
      }
    });
  }
  equal((await rig.raw("/v1/status", { body: "{}" })).status, 200);
});

controlTest("a refusal carries its message, and a request id", async (rig) => {
  const { json } = await rig.raw("/v1/get", { body: '{"what":"nonsense"}' });
  match(String(json["detail"]), /Unknown kind "nonsense"/);
  match(String(json["request_id"]), /^[0-9A-Z]{26}$/);
});

/** Which operations answer `forbidden` to an empty body. */
async function forbidden(rig: ControlRig): Promise<string[]> {
  const names = Object.keys(OPERATIONS);
  const codes = await Promise.all(
    names.map((name) => code(rig.raw(`/v1/${name}`, { body: "{}" }))),
  );
  return names.filter((_, index) => codes[index] === "forbidden");
}

/** Whatever its role, nobody on the socket is a gateway. */
const OF_GATEWAYS = "person.login";

const above = (role: Role) =>
  Object.entries(OPERATIONS).filter(([name, needed]) =>
    name === OF_GATEWAYS || ROLES.indexOf(needed.role) > ROLES.indexOf(role)
  ).map(([name]) => name);

controlTest("without an access policy the owner is admin", async (rig) => {
  deepEqual(await forbidden(rig), [OF_GATEWAYS]);
  equal(await code(rig.raw("/v1/nonsense", { body: "{}" })), "not_found");
});

for (const role of ROLES) {
  controlTest(
    `with max_role: ${role}, operations above it are forbidden, unknown ones too`,
    async (rig) => {
      await Deno.writeTextFile(rig.dirs.udsPolicy, `max_role: ${role}\n`);
      deepEqual(await forbidden(rig), above(role));
      const expected = role === "admin" ? "not_found" : "forbidden";
      equal(await code(rig.raw("/v1/nonsense", { body: "{}" })), expected);
      equal((await rig.raw("/v1/apply", { body: APPLY })).status, role === "read_only" ? 403 : 200);
      equal((await rig.raw("/v1/status", { body: "{}" })).status, 200);
      await Deno.remove(rig.dirs.udsPolicy);
      equal((await rig.raw("/v1/apply", { body: APPLY })).status, 200, "read for every request");
    },
  );
}

const BROKEN: Readonly<Record<string, string | Uint8Array>> = {
  "nothing": "",
  "no YAML": "max_role: [",
  "another role": "max_role: root",
  "another type": "max_role: 3",
  "another case": "max_role: Admin",
  "another key": "max_role: admin\nmin_role: admin",
  "the key twice": "max_role: read_only\nmax_role: admin",
  "a list": "- max_role: admin",
  "two documents": "max_role: admin\n---\nmax_role: admin",
  "bytes that are no text": new Uint8Array([0xff, 0xfe, 0]),
  "far too much": `max_role: admin\n#${"x".repeat(100_000)}`,
};

controlTest(
  "an access policy that cannot be understood leaves everybody reading only",
  async (rig) => {
    for (const [what, content] of Object.entries(BROKEN)) {
      await Deno.writeFile(
        rig.dirs.udsPolicy,
        typeof content === "string" ? new TextEncoder().encode(content) : content,
      );
      equal(await code(rig.raw("/v1/apply", { body: APPLY })), "forbidden", what);
      const { degraded } = await rig.client.call("status", {});
      match(degraded.join(), /uds-policy\.yaml/, what);
    }
    await Deno.remove(rig.dirs.udsPolicy);
    await Deno.symlink("nowhere", rig.dirs.udsPolicy);
    equal(await code(rig.raw("/v1/apply", { body: APPLY })), "forbidden", "a dangling link");
    await Deno.remove(rig.dirs.udsPolicy);
    await Deno.mkdir(rig.dirs.udsPolicy);
    equal(await code(rig.raw("/v1/apply", { body: APPLY })), "forbidden", "a directory");
  },
);

controlTest("an unknown token is refused", async (rig) => {
  for (const value of ["Bearer x", "Bearer", "Basic eDp5", "", "Bearer run-x y"]) {
    const headers = { authorization: value };
    const { status, json } = await rig.raw("/v1/status", { body: "{}", headers });
    equal(status, 403, value);
    match(String(json["detail"]), /^Unknown or expired token/, value);
  }
});

controlTest(
  "a program that says its name is in the audit, and may do no more for it",
  async (rig) => {
    await Deno.writeTextFile(rig.dirs.udsPolicy, "max_role: read_only\n");
    const call = (client: string) =>
      rig.raw("/v1/apply", { body: APPLY, headers: { "svc-client": client } });
    equal(await code(call("console")), "forbidden");
    equal(await code(call("admin")), "forbidden");
    equal(await code(rig.raw("/v1/apply", { body: APPLY })), "forbidden");
    const { items, columns, rows } = await rig.client.call("get", { what: "control-audit" });
    deepEqual(items.map(({ caller, client, result }) => [caller, client, result]), [
      ["socket", null, "denied"],
      ["socket", "admin", "denied"],
      ["socket", "console", "denied"],
    ]);
    const at = columns.findIndex(({ header }) => header === "CALLER");
    deepEqual(rows.map((cells) => cells[at]), ["socket", "socket (admin)", "socket (console)"]);
    await until("the refusal in the log", () =>
      Promise.resolve(
        rig.logged.some((line) => line.includes('"socket (console)"')) || undefined,
      ));
  },
);

controlTest("an invalid name of a program is refused from every caller", async (rig) => {
  const { token } = await rig.client.call("token.create", {
    role: "admin",
    ttl_secs: 60,
    name: "laptop",
  });
  const answer = (client: string, authorization?: string) =>
    rig.raw("/v1/status", {
      body: "{}",
      headers: {
        "svc-client": client,
        ...defined({ authorization }),
      },
    });
  for (const name of ["", "Console", "a b", "a,b", "x".repeat(33), "a\u00e9", "svc2", "<b>"]) {
    for (const authorization of [undefined, `Bearer ${token}`]) {
      const { status, json } = await answer(name, authorization);
      deepEqual([status, json["code"]], [400, "invalid"], name);
      match(String(json["detail"]), /^The header svc-client takes 1 to 32/);
    }
  }
  for (const name of ["console", "x".repeat(32), "my-tool"]) {
    equal((await answer(name)).status, 200, name);
    equal((await answer(name, `Bearer ${token}`)).status, 200, name);
  }
});

controlTest("only one daemon runs on a data directory", async (rig) => {
  await rejects(rig.startAnother(), { code: "refused", message: /Another daemon runs/ });
  equal((await rig.raw("/v1/status", { body: "{}" })).status, 200);
  await rig.restart();
  equal((await rig.raw("/v1/status", { body: "{}" })).status, 200);
});

Deno.test("a daemon refuses a secret key that is not one", LOOSE, async () => {
  for (const content of ["", "svc1", "svc1 !!!", "svc1 AAAA", `${newKeyFile()} more`]) {
    await rejects(controlRig((dirs) => Deno.writeTextFile(dirs.secretKey, content)), {
      message: content === "" ? /key file is empty/ : /key file is damaged/,
    });
  }
});
