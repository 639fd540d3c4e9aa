/**
 * Persons on a running daemon: only an admin changes them, one identity is one person's, and each
 * change is in the audit.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, rejects } from "node:assert/strict";
import { connect } from "../../src/api/client.ts";
import type { AppError } from "../../src/base/errors.ts";
import { controlTest } from "../rigs/control_rig.ts";

const person = (name: string, is: readonly string[] = [], role = "operator") =>
  `kind: Person\nmetadata: {name: ${name}}\nspec: {role: ${role}, is: ${JSON.stringify(is)}}\n`;

controlTest("two Persons never have one identity, whenever they are applied", async (rig) => {
  const refused = async (texts: readonly string[], detail: RegExp) =>
    await rejects(rig.apply(...texts), (error: AppError) => {
      match(error.message, /^Nothing was applied: \d errors?$/);
      match(error.details.join("\n"), detail);
      return true;
    });
  await refused(
    [person("ada", ["github:1"]), person("bob", ["github:1"])],
    /0\.yaml:3:\d+: spec\.is\.0: "github:1" is person\/bob already: .*\n1\.yaml.*person\/ada already/,
  );
  await rig.apply(person("ada", ["github:1", "slack:T01/U02"]));
  await refused([person("bob", ["gitlab:1", "slack:T01/U02"])], /spec\.is\.1: .*person\/ada/);
  await rig.apply(person("ada", ["github:1", "slack:T01/U02"]));
  await rig.apply(person("bob", ["slack:T01/U02"]), person("ada", ["github:1"]));
  await refused([person("ada", ["github:1", "slack:T01/U02"])], /person\/bob already/);
  await rig.client.call("delete", { targets: [{ what: "person", names: ["bob"] }] });
  await rig.apply(person("ada", ["github:1", "slack:T01/U02"]));
  const { items } = await rig.client.call("get", { what: "persons" });
  deepEqual(items.map(({ spec }) => (spec as { is: unknown }).is), [["github:1", "slack:T01/U02"]]);
});

controlTest("only an admin applies or deletes a Person, and the audit shows it", async (rig) => {
  await rig.apply(person("ada", [], "read_only"));
  const { token } = await rig.client.call("token.create", {
    role: "operator",
    ttl_secs: 60,
    name: "op",
  });
  using operator = connect({ socket: rig.dirs.socket }, token);
  const files = [{ name: "p.yaml", text: person("ada", [], "admin") }];
  const forbidden = { code: "forbidden" };
  await rejects(operator.call("apply", { files, dry_run: false }), forbidden);
  await rejects(operator.call("apply", { files, dry_run: true }), forbidden);
  const targets = [{ what: "persons", names: ["ada"] }];
  await rejects(operator.call("delete", { targets }), forbidden);
  await rig.apply(person("ada", [], "read_only"));
  await rig.client.call("delete", { targets });
  const { items } = await rig.client.call("get", { what: "control-audit", limit: 99 });
  const rows = (items as unknown as readonly Record<string, string>[])
    .map(({ operation, target, caller, result }) => [operation, target, caller, result].join(" "));
  ok(rows.includes("apply person/ada socket done"), rows.join("\n"));
  ok(rows.includes("delete person/ada socket done"), rows.join("\n"));
  ok(rows.includes("apply  token op denied"), rows.join("\n"));
  deepEqual(rows.filter((row) => row.startsWith("apply person/ada")).length, 1, "one change");
});
