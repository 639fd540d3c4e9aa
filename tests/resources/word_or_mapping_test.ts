/**
 * Fields that take a word or a mapping: what is said of a mapping that is wrong names the field in it.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { compileSchema } from "../../src/resources/validate.ts";
import { SandboxField } from "../../src/resources/sandbox.ts";
import { TellField } from "../../src/resources/tell.ts";

const CASES: readonly [what: string, schema: object, value: unknown, says: readonly string[]][] = [
  ["sandbox", SandboxField, "tight", []],
  ["sandbox", SandboxField, { network: "none" }, []],
  ["sandbox", SandboxField, { netwrok: "none" }, [
    'netwrok: Unknown field "netwrok", did you mean "network"?',
  ]],
  ["sandbox", SandboxField, { nested: "yes" }, [
    "nested: Expected a boolean, found a text of 3 characters",
  ]],
  ["sandbox", SandboxField, 5, [
    ": Expected the name of a Sandbox, none, or a sandbox of its own, such as {network: none}, " +
    "found the number 5",
  ]],
  ["tell", TellField, ["thread"], []],
  ["tell", TellField, [{ slack: { connection: "chat", channel: "C01" } }], []],
  ["tell", TellField, [{}], ['0: Missing field "slack"']],
  ["tell", TellField, [{ slack: { connection: "chat" } }], ['0.slack: Missing field "channel"']],
  ["tell", TellField, ["mail"], [
    "0: Expected thread, or a mapping such as {slack: {connection: chat, channel: C0123456789}}, " +
    "found a text of 4 characters",
  ]],
];

for (const [what, schema, value, says] of CASES) {
  Deno.test(`${what}: ${JSON.stringify(value)}`, () => {
    const findings = compileSchema(schema).check(value);
    deepEqual(findings.map(({ path, message }) => `${path.join(".")}: ${message}`), says);
  });
}
