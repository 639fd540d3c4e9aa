/**
 * The plugin policy: the decisions of the allowlist as tables, and files that are not a policy.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import {
  decideCommand,
  DEFAULT_POLICY,
  parsePolicy,
  type Policy,
  type PolicyReading,
} from "../../src/plugins/policy/policy.ts";
import type { FileFact, PolicyFacts } from "../../src/plugins/policy/policy_rules.ts";
import { ALLOWED, DENIED } from "./policy_cases.ts";

/** A file system in which every name is a script, but for these. */
const ODD: Readonly<Record<string, FileFact>> = {
  "/p/": { kind: "directory", real: "/p" },
  "/p/scripts/": { kind: "directory", real: "/p/scripts" },
  "/p/scripts/sub": { kind: "directory", real: "/p/scripts/sub" },
  "/p/scripts/link.sh": { kind: "file", real: "/p/evil.sh" },
  "/p/scripts/near.sh": { kind: "file", real: "/p/scripts-evil/near.sh" },
  "/p/scripts/within.sh": { kind: "file", real: "/p/scripts/sub/y.sh" },
  "/p/scripts/pipe": { kind: "other", real: "/p/scripts/pipe" },
  "/p/scripts/new.sh": { kind: "missing", real: "/p/scripts/new.sh" },
  "/opt/plugins/": { kind: "directory", real: "/srv/plugins" },
  "/opt/plugins/a.sh": { kind: "file", real: "/srv/plugins/a.sh" },
  "/opt/gone/": { kind: "missing", real: "/opt/gone" },
};

function facts(when: PolicyFacts["when"] = "run"): PolicyFacts {
  const realPath = (path: string) => ODD[path] ?? { kind: "file", real: path } as const;
  return { pluginRoot: "/p", realPath, when };
}

const ONE = ["scripts/"];
const THREE = ["/opt/plugins/", "scripts/", "svc tool "];

function policyOf(prefixes: readonly string[], rest: Partial<Policy> = {}): Policy {
  return { ...DEFAULT_POLICY, allowedCommandPrefixes: prefixes, ...rest };
}

function ruleOf(line: string, prefixes: readonly string[], rest: Partial<Policy> = {}): string {
  return decideCommand(line, policyOf(prefixes, rest), facts()).rule;
}

for (const line of ALLOWED) {
  Deno.test(`decideCommand allows ${JSON.stringify(line).slice(0, 90)}`, () => {
    for (const prefixes of [ONE, THREE]) {
      const decision = decideCommand(line, policyOf(prefixes), facts());
      deepEqual(decision, { verdict: "allowed", rule: "allowed", reason: "" });
    }
    equal(ruleOf(line, []), "prefix");
    equal(ruleOf(line, ["other/"]), "prefix");
  });
}

for (const [line, rule] of DENIED) {
  Deno.test(`decideCommand denies ${JSON.stringify(line).slice(0, 90)} by ${rule}`, () => {
    for (const prefixes of [ONE, THREE]) {
      const decision = decideCommand(line, policyOf(prefixes), facts());
      deepEqual({ ...decision, reason: "" }, { verdict: "denied", rule, reason: "" });
      match(decision.reason, /^\S.{5,}[^.]$/s);
      const audited = decideCommand(line, policyOf(prefixes, { mode: "audit" }), facts());
      deepEqual(audited, { ...decision, verdict: "audit_warning" });
    }
  });
}

/** Line, prefixes, rule. */
const BY_PREFIX: readonly (readonly [line: string, prefixes: readonly string[], rule: string])[] = [
  ["/opt/plugins/a.sh", THREE, "allowed"],
  ["/opt/plugins/b.sh", THREE, "file"],
  ["/opt/plugins-evil/a.sh", THREE, "prefix"],
  ["/opt/gone/a.sh", ["/opt/gone/"], "file"],
  ["svc tool payload-extract --path a", THREE, "allowed"],
  [
    'svc tool webhook-verify-hmac --secret-ref x --signature "$WEBHOOK_HEADER_X_SIG"',
    THREE,
    "allowed",
  ],
  ["scripts/a.sh | svc tool payload-extract --path a", THREE, "allowed"],
  ["svc apply -f x", THREE, "prefix"],
  ["scripts/a.sh; svc apply -f x", THREE, "further_command"],
  ["svc tool", THREE, "prefix"],
  ["svc tool x; svc tool", THREE, "further_command"],
  ["svc tool base64 x", ["svc tool ", "svc tool base64 "], "denied_name"],
  ["curl x", ["curl "], "denied_name"],
  ["true", ["true"], "allowed"],
  ["scripts-evil/x", ["scripts"], "allowed"],
  ["evil.sh", ["", "scripts/"], "prefix"],
  ["scripts/link.sh", ["scripts/", "scripts/li"], "file"],
  ["scripts/a.sh --all x", ["scripts/a.sh --all "], "allowed"],
  ["scripts/a.sh --any", ["scripts/a.sh --all "], "prefix"],
  ["X=1 scripts/a.sh", ["X=1 "], "assignment"],
];

for (const [line, prefixes, rule] of BY_PREFIX) {
  Deno.test(`decideCommand decides ${line} by ${rule} under ${JSON.stringify(prefixes)}`, () => {
    equal(ruleOf(line, prefixes), rule);
  });
}

Deno.test("decideCommand lets a missing file pass on apply, with a warning, unless more is wrong", () => {
  const apply = (line: string) => decideCommand(line, policyOf(ONE), facts("apply"));
  const decision = apply("scripts/new.sh");
  deepEqual([decision.verdict, decision.rule], ["allowed", "missing_file"]);
  match(decision.reason, /"scripts\/new.sh" does not exist/);
  equal(apply("scripts/new.sh; rm x").verdict, "denied");
  equal(apply("scripts/new.sh; scripts/link.sh").rule, "file");
});

for (const line of ["scripts/a.sh", "rm x", "", "true"]) {
  Deno.test(`decideCommand denies "${line}" under mode deny`, () => {
    const decision = decideCommand(line, policyOf(["scripts/", "rm"], { mode: "deny" }), facts());
    deepEqual([decision.verdict, decision.rule], ["denied", "mode_deny"]);
  });
}

/** With `shell_syntax: any` only the second half of rule 2 is off. */
const ANY: readonly (readonly [line: string, rule: string])[] = [
  ["scripts/ok.sh; rm x", "allowed"],
  ["scripts/ok.sh >file $X <<EOF\n$((1))\nEOF", "allowed"],
  ["scripts/ok.sh; curl x", "denied_name"],
  ["scripts/ok.sh\r", "control_character"],
  ["rm x", "prefix"],
  ["scripts/../evil.sh", "parent_directory"],
  ["scripts/link.sh; true", "file"],
  ["scripts/new.sh|true", "missing_file"],
  ["scripts/$X", "file"],
  ["scripts/link*", "file"],
  ["scripts/o\\k.sh", "file"],
];

for (const [line, rule] of ANY) {
  Deno.test(`decideCommand with shell_syntax any decides ${JSON.stringify(line)} by ${rule}`, () => {
    equal(ruleOf(line, THREE, { shellSyntax: "any" }), rule);
  });
}

function opened(reading: PolicyReading): Extract<PolicyReading, { policy: Policy }> {
  ok("policy" in reading, JSON.stringify(reading));
  return reading;
}

Deno.test("parsePolicy reads every field", () => {
  const text = "# rules\nmode: audit\nallowed_command_prefixes: [scripts/, 'svc tool ']\n" +
    "max_timeout_secs: 90\nenforce_on_hooks: false\nshell_syntax: any\n";
  const { policy, warnings } = opened(parsePolicy(`\uFEFF${text.replaceAll("\n", "\r\n")}`));
  deepEqual(warnings, []);
  deepEqual(policy, {
    mode: "audit",
    allowedCommandPrefixes: ["scripts/", "svc tool "],
    maxTimeoutSecs: 90,
    enforceOnHooks: false,
    shellSyntax: "any",
  });
});

for (const text of ["", "\n", "# nothing\n", "{}"]) {
  Deno.test(`parsePolicy takes ${JSON.stringify(text)} for the default: nothing is allowed`, () => {
    deepEqual(opened(parsePolicy(text)).policy, {
      mode: "allowlist",
      allowedCommandPrefixes: [],
      maxTimeoutSecs: 30,
      enforceOnHooks: true,
      shellSyntax: "strict",
    });
  });
}

Deno.test("parsePolicy warns of an empty prefix, which then allows nothing", () => {
  const text = "allowed_command_prefixes:\n  - scripts/\n  - ''\n";
  const { policy, warnings } = opened(parsePolicy(text, "p.yaml"));
  deepEqual(warnings, ["p.yaml:3:5: An empty prefix is ignored, remove it"]);
  equal(decideCommand("rm x", policy, facts()).rule, "prefix");
  equal(decideCommand("scripts/a.sh; rm x", policy, facts()).rule, "further_command");
});

/** Text, and what the reason has to hold. */
const CLOSED: readonly (readonly [text: string, reason: RegExp])[] = [
  ["mode: permissive", /p\.yaml:1:1: mode: Expected one of deny, allowlist, audit/],
  ["mode: Allowlist", /Expected one of/],
  ["mode: [audit]", /Expected one of/],
  ["mode:", /Expected one of/],
  ["mode: audit\nmodes: deny", /p\.yaml:2:1: modes: Unknown field "modes", did you mean "mode"/],
  ["__proto__: {mode: audit}", /Unknown field "__proto__"/],
  ["mode: audit\nmode: deny", /p\.yaml:2:1: Duplicate key/],
  ["allowed_command_prefixes: scripts/", /Expected a list/],
  ["allowed_command_prefixes: [1]", /p\.yaml:1:28: .*Expected a text/],
  ["allowed_command_prefixes:", /Expected a list/],
  ["allowed_command_prefixes: [~]", /Expected a text/],
  ["max_timeout_secs: 0", /whole number of seconds from 1 to 86400, found the number 0/],
  ["max_timeout_secs: -1", /whole number/],
  ["max_timeout_secs: 1.5", /whole number/],
  ["max_timeout_secs: '30'", /whole number/],
  ["max_timeout_secs: 30s", /whole number/],
  ["max_timeout_secs: .inf", /whole number/],
  ["max_timeout_secs: .nan", /whole number/],
  ["max_timeout_secs: 1e30", /whole number/],
  ["max_timeout_secs: true", /whole number/],
  ["enforce_on_hooks: yes", /Expected a boolean/],
  ["enforce_on_hooks: 0", /Expected a boolean/],
  ["shell_syntax: loose", /Expected one of strict, any/],
  ["mode: !odd audit", /p\.yaml:1:7/],
  ["mode: *missing", /p\.yaml:1/],
  ["mode: audit\n---\nmode: deny", /p\.yaml:3:1: A policy is one document/],
  ["- mode: audit", /Expected a mapping/],
  ["audit", /Expected a mapping/],
  ["null", /Expected a mapping/],
  ["mode: [", /p\.yaml:1/],
  ["\tmode: audit", /p\.yaml:1/],
  ["mode: audit\x00", /p\.yaml:1/],
];

for (const [text, reason] of CLOSED) {
  Deno.test(`parsePolicy closes on ${JSON.stringify(text)}`, () => {
    const reading = parsePolicy(text, "p.yaml");
    ok("closed" in reading && !("policy" in reading), JSON.stringify(reading));
    match(reading.closed, reason);
    ok(reading.errors.length > 0);
  });
}
