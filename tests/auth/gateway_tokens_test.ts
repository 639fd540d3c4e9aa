/**
 * Gateway tokens: they act for the Person that a request names, with the lower of both roles as they are
 * at that moment, and never for themselves; nothing else acts for another.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { type Client, connect } from "../../src/api/client.ts";
import { identify, identifyByToken, identifyStep } from "../../src/auth/caller.ts";
import { RunTokens } from "../../src/auth/run_tokens.ts";
import type { NewToken } from "../../src/auth/tokens.ts";
import { newToken } from "../../src/auth/tokens.ts";
import { sha256Hex } from "../../src/base/bytes.ts";
import { dataDirAt } from "../../src/base/data_dir.ts";
import type { AppError } from "../../src/base/errors.ts";
import { lowerRole, type Role, ROLES } from "../../src/base/roles.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import type { Resource } from "../../src/resources/resource.ts";
import { setClock } from "../helpers/manual_clock.ts";
import { within } from "../helpers/within.ts";
import { type ControlRig, controlTest } from "../rigs/control_rig.ts";

function person(name: string, role: Role, is: readonly string[]): Resource {
  const facts = { metadata: {}, generation: 1, createdAt: 7, updatedAt: 7 };
  return { kind: "Person", project: "", name, spec: { role, is }, ...facts };
}

const CATALOG = new Catalog([
  ...ROLES.map((role) => person(`is-${role}`, role, [`header:${role}`, `github:${role.length}`])),
  person("zoe.b", "operator", ["header:zoë/ü %", "oidc:https://id.example/#a,b"]),
  person("one", "admin", ["header:both"]),
  person("two", "admin", ["header:both"]),
]);
const CLOCK = setClock(1000);
const RUNS = new RunTokens();

type Who =
  | "nobody"
  | "token"
  | "token of a person"
  | "gateway"
  | "step"
  | "plugin"
  | "revoked gateway";

/** Asks who the caller of a request is, at each of the ways in; gives the same answer of all that know it. */
async function called(
  who: Who,
  headers: Readonly<Record<string, string>>,
  role: Role = "operator",
): Promise<string> {
  const made: NewToken = newToken(
    {
      role,
      ttlSecs: 60,
      name: "team",
      ...(who === "token of a person" ? { person: "is-admin" } : {}),
      ...(who.endsWith("gateway") ? { gateway: true } : {}),
    },
    { newId: () => "01J", clock: CLOCK, catalog: CATALOG },
  );
  using run = RUNS.issue({ kind: who === "step" ? "step" : "plugin", project: "default" });
  const isRun = who === "step" || who === "plugin";
  const store = {
    findToken: (hash: string) =>
      Promise.resolve(
        hash !== sha256Hex(made.token)
          ? undefined
          : who === "revoked gateway"
          ? { ...made.record, revokedAt: 1 }
          : made.record,
      ),
  };
  const host = {
    store: store as never,
    clock: CLOCK,
    catalog: CATALOG,
    dirs: dataDirAt("/nonexistent"),
    tokens: RUNS,
  };
  const bearer = isRun ? run.token : made.token;
  const request = new Request("http://svc/", {
    headers: { ...(who === "nobody" ? {} : { authorization: `Bearer ${bearer}` }), ...headers },
  });
  const shown = async (find: () => Promise<unknown>) => {
    try {
      const caller = await find() as Record<string, unknown> | undefined;
      if (caller === undefined) return "unknown";
      const { name, client = "", role, person = "" } = caller;
      return `${name} (${client}) ${role} ${person}`;
    } catch (error) {
      return (error as AppError).code;
    }
  };
  const bySocket = await shown(() => identify(request, host));
  if (!isRun && who !== "nobody") {
    equal(await shown(() => identifyByToken(request, host)), bySocket, "over TLS the same");
  }
  if (who === "step") {
    equal(await shown(() => Promise.resolve().then(() => identifyStep(request, host))), bySocket);
  }
  return bySocket;
}

Deno.test("a gateway acts with the lower of its role and that of the Person, whatever both are", async () => {
  for (const own of ROLES) {
    for (const of of ROLES) {
      const role = lowerRole(own, of);
      const expected = `is-${of} (team) ${role} is-${of}`;
      equal(await called("gateway", { "svc-person": `is-${of}` }, own), expected);
      equal(await called("gateway", { "svc-person": `header:${of}` }, own), expected);
      equal(await called("gateway", { "svc-person": `github%3A${of.length}` }, own), expected);
    }
  }
});

Deno.test("who may name a Person, and which", async () => {
  const NAMES = {
    "": undefined,
    "a Person": "is-operator",
    "nobody known": "eve",
    "an identity of nobody": "github:99",
    "an identity of two": "header:both",
  } as const;
  const table: Record<string, string> = {};
  for (
    const who of [
      "nobody",
      "token",
      "token of a person",
      "gateway",
      "revoked gateway",
      "step",
      "plugin",
    ] as const
  ) {
    for (const [what, value] of Object.entries(NAMES)) {
      const headers: Record<string, string> = value === undefined ? {} : { "svc-person": value };
      table[`${who} | ${what}`] = await called(who, headers);
    }
  }
  const refused = (who: Who, itself: string) =>
    Object.fromEntries(
      Object.keys(NAMES).map((what) => [`${who} | ${what}`, what === "" ? itself : "forbidden"]),
    );
  deepEqual(table, {
    ...refused("nobody", "socket () admin "),
    ...refused("token", "token team () operator "),
    ...refused("token of a person", "is-admin () operator is-admin"),
    ...refused("step", "step () read_only "),
    ...refused("plugin", "plugin () read_only "),
    ...Object.fromEntries(
      Object.keys(NAMES).map((what) => [`revoked gateway | ${what}`, "unknown"]),
    ),
    "gateway | ": "forbidden",
    "gateway | a Person": "is-operator (team) operator is-operator",
    "gateway | nobody known": "unauthorized",
    "gateway | an identity of nobody": "unauthorized",
    "gateway | an identity of two": "unauthorized",
  });
});

Deno.test("a name in the header is one name to the letter, and percent-encoded", async () => {
  const gateway = (value: string) => called("gateway", { "svc-person": value });
  const zoe = "zoe.b (team) operator zoe.b";
  equal(await gateway("zo%65.b"), zoe);
  equal(await gateway(encodeURIComponent("header:zoë/ü %")), zoe);
  equal(await gateway("oidc%3Ahttps%3A%2F%2Fid.example%2F%23a%2Cb"), zoe);
  equal(await gateway("oidc:https://id.example/#a,b"), zoe);
  const bad = [
    "",
    "%",
    "%ff",
    "Is-operator",
    "is-operator, is-admin",
    "is-operator,is-admin",
    ":",
    "header:",
    "header:operator, header:admin",
    "is-operator%00",
    "person/is-operator",
    "*",
    "is-%6fperator%20",
  ];
  for (const value of bad) equal(await gateway(value), "unauthorized", value);
});

Deno.test("a gateway cannot hide in the audit which one it is", async () => {
  const headers = { "svc-person": "is-operator", "svc-client": "cli" };
  equal(await called("gateway", headers), "is-operator (team) operator is-operator");
  equal(await called("gateway", { ...headers, "svc-client": "Not A Name" }), "invalid");
});

const ada = (role: string) =>
  `kind: Person\nmetadata: {name: ada}\nspec: {role: ${role}, is: ["github:1"]}\n`;
const deleteAda = ({ client }: ControlRig) =>
  client.call("delete", { targets: [{ what: "person", names: ["ada"] }] });

/** A client of a gateway that asks for one identity. */
async function gatewayFor(rig: ControlRig, person = "github:1"): Promise<Client> {
  const input = { gateway: true, role: "operator", ttl_secs: 60, name: "console" } as const;
  const { token } = await rig.client.call("token.create", input);
  const inner = connect({ socket: rig.dirs.socket }, token);
  const ask = async (name: string, input: unknown, signal = new AbortController().signal) => {
    const body = JSON.stringify(input);
    const answer = await inner.forward(
      { name: name as never, body, by: "console", person },
      signal,
    );
    if (answer.ok) return answer;
    throw Object.assign(new Error("refused"), await answer.json());
  };
  return {
    ...inner,
    call: async (name: string, input: unknown) => await (await ask(name, input)).json(),
    forward: (call, signal) => inner.forward({ ...call, person }, signal),
    [Symbol.dispose]: () => inner[Symbol.dispose](),
  } as Client;
}

controlTest(
  "a gateway token is made, listed, audited, and is for nobody in particular",
  async (rig) => {
    await rig.apply(ada("admin"));
    using client = await gatewayFor(rig);
    deepEqual((await client.call("status", {})).caller, { name: "ada", role: "operator" });
    const { items } = await rig.client.call("get", { what: "tokens", limit: 9 });
    const [shown] = items as unknown as Record<string, unknown>[];
    deepEqual([shown?.["gateway"], shown?.["person"], shown?.["role"]], [true, null, "operator"]);
    const made = { person: "ada", gateway: true, ttl_secs: 60, name: "x" };
    const both = await rig.client.call("token.create", made).catch((error: AppError) => error);
    match(String((both as AppError).message), /acts for each Person that it names, not for one/);
    const refusal = await client.call("token.revoke", { id: "01J" }).catch((error) => error.code);
    equal(refusal, "forbidden");
    const audit = await rig.client.call("get", { what: "control-audit", limit: 1 });
    const [row] = audit.items as unknown as Record<string, unknown>[];
    deepEqual([row?.["caller"], row?.["client"], row?.["role"], row?.["result"]], [
      "ada",
      "console",
      "operator",
      "denied",
    ]);
  },
);

const CHANGES = {
  "was deleted": deleteAda,
  "got a lower role": (rig: ControlRig) => rig.apply(ada("read_only")),
  "gave the identity to another": (rig: ControlRig) =>
    rig.apply(
      ada("admin").replace("github:1", "github:2"),
      ada("admin").replace("name: ada", "name: bob"),
    ),
} as const;

for (const [what, change] of Object.entries(CHANGES)) {
  controlTest(
    `a stream through a gateway ends in its midst when its Person ${what}`,
    async (rig) => {
      await rig.apply(ada("operator"));
      using client = await gatewayFor(rig);
      const name = "get.watch" as const;
      const call = { name, body: '{"what":"tasks"}', by: "console" };
      const { body } = await client.forward(call, new AbortController().signal);
      ok(body !== null);
      const reader = body.getReader();
      await within(15_000, reader.read());
      const rest = (async () => {
        while (!(await reader.read()).done) { /* what was sent before */ }
      })().then(() => "ended", () => "broken off");
      await change(rig);
      equal(await within(15_000, rest), "broken off");
    },
  );
}
