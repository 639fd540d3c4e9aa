/**
 * Secrets that stand in no SecretStore: variables of the daemon, its key file.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { secretsAmong, secretsInKeyFile } from "../../src/secrets/own_secrets.ts";

const STEP_ENV = ["GIVEN", "ANTHROPIC_API_KEY"];

/** What is hidden of one variable. */
const CASES: readonly (readonly [name: string, value: string, hidden: readonly string[]])[] = [
  ["ANTHROPIC_API_KEY", "sk-ant-api03-abcdef", ["sk-ant-api03-abcdef"]],
  ["GITHUB_TOKEN", "ghs_short", ["ghs_short"]],
  ["PGPASSWORD", "hunter22", ["hunter22"]],
  ["clientSecret", "abcdefg", ["abcdefg"]],
  ["AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG", ["wJalrXUtnFEMI/K7MDENG"]],
  ["ACCESSKEY", "abc123def", ["abc123def"]],
  [
    "OTEL_EXPORTER_OTLP_HEADERS",
    "authorization=Bearer%20abc0def",
    ["authorization=Bearer%20abc0def", "Bearer%20abc0def", "abc0def", "Bearer abc0def"],
  ],
  [
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    "x-team=hcaik_01abcd, X-Tenant=platform",
    [
      "x-team=hcaik_01abcd, X-Tenant=platform",
      "hcaik_01abcd, X-Tenant=platform",
      "x-team=hcaik_01abcd",
      "hcaik_01abcd",
    ],
  ],
  [
    "OTEL_EXPORTER_OTLP_HEADERS",
    "Authorization=Basic%20dXNlcjpodW50ZXIyMg%3D%3D",
    [
      "Authorization=Basic%20dXNlcjpodW50ZXIyMg%3D%3D",
      "Basic%20dXNlcjpodW50ZXIyMg%3D%3D",
      "dXNlcjpodW50ZXIyMg==",
      "Basic dXNlcjpodW50ZXIyMg==",
      "user:hunter22",
      "hunter22",
    ],
  ],
  [
    "OTEL_EXPORTER_OTLP_HEADERS",
    "authorization=Bearer%20abc0",
    ["authorization=Bearer%20abc0", "Bearer%20abc0", "Bearer abc0"],
  ],
  ["OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=platform", ["x-tenant=platform"]],
  ["MY_HEADERS", "x-team=ab%2B12c", ["x-team=ab%2B12c", "ab%2B12c", "ab+12c"]],
  ["HTTPS_PROXY", "http://user:pw-of-proxy@proxy:3128", ["pw-of-proxy"]],
  ["DATABASE_URL", "postgres://svc:pw-of-db@db/x", ["pw-of-db"]],
  ["GIVEN", "9f86d081884c7d659a2feaa0c55ad015", ["9f86d081884c7d659a2feaa0c55ad015"]],
  ["OTHER", "9f86d081884c7d659a2feaa0c55ad015", []],
  ["HOSTNAME", "svc-7d9f8b6c5d-x2x4z-000001", []],
  ["GIVEN", "db-7.internal.example.com:5432", []],
  ["GIVEN", "en_US.UTF-8.and.more.of.it", []],
  ["GIVEN", "https://h.example/api/v1/of/the/1", []],
  ["GIVEN", "localhost,127.0.0.1,.example.com", []],
  ["GIVEN", "--max-old-space-size=4096", []],
  ["GIVEN", "a sentence with 16 bytes or more", []],
  ["SSH_AUTH_SOCK", "/run/user/1000/keyring/ssh", []],
  ["API_KEY_FILE", "/run/secrets/api-key-0123456789", []],
  ["MAX_OUTPUT_TOKENS", "64000000", []],
  ["TOKENIZERS_PARALLELISM", "disabled-1", []],
  ["KEYBOARD_LAYOUT", "english", []],
  ["MONKEY", "gibbon", []],
  ["AUTH", "disabled", []],
  ["TOKEN", "true", []],
];

for (const [name, value, hidden] of CASES) {
  Deno.test(`of ${name}=${value} ${hidden.length === 0 ? "nothing" : "the secret"} is hidden`, () => {
    deepEqual(secretsAmong({ [name]: value }, STEP_ENV), hidden);
  });
}

Deno.test("of a key file its text and its key are hidden", () => {
  deepEqual(secretsInKeyFile("svc2 QUJDREVGR0g=\n"), ["svc2 QUJDREVGR0g=", "QUJDREVGR0g="]);
});
