/**
 * What a step is told of its way out, and the headers that it is not told.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal, throws } from "node:assert/strict";
import { egressEnv, fillHeaders, injectionAddress, injectionAt } from "../../src/egress/inside.ts";
import { type Network, type NetworkRules, parseNetwork } from "../../src/resources/network.ts";

const rulesOf = (network: Network) => parseNetwork(network) as NetworkRules;

const KEY = { fromSecret: { store: "keys", key: "k" } };

Deno.test("the variables of a step lead to the proxy, and to each injection", () => {
  const env = egressEnv(rulesOf({
    allow: ["github.com"],
    inject: [
      { url: "https://api.anthropic.com", env: "ANTHROPIC_BASE_URL" },
      { url: "https://openrouter.ai/api/v1/", env: "OPENAI_BASE_URL" },
    ],
  }));
  const proxy = "http://127.0.0.1:3128";
  const direct = "localhost,127.0.0.1,::1,127.0.0.2,127.0.0.3";
  deepEqual(env, {
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
    http_proxy: proxy,
    https_proxy: proxy,
    NO_PROXY: direct,
    no_proxy: direct,
    NODE_USE_ENV_PROXY: "1",
    ANTHROPIC_BASE_URL: "http://127.0.0.2:3128",
    OPENAI_BASE_URL: "http://127.0.0.3:3128/api/v1",
  });
});

Deno.test("a loopback address that the rules name is not the step's own", () => {
  equal(egressEnv(rulesOf({ allow: ["127.0.0.1:8080"] }))["NO_PROXY"], "localhost,::1");
  equal(egressEnv(rulesOf({ allow: ["[::1]:8080"] }))["NO_PROXY"], "localhost,127.0.0.1");
});

Deno.test("an injection and its address belong together", () => {
  for (const index of [0, 1, 49]) equal(injectionAt(injectionAddress(index)), index);
  for (const address of ["127.0.0.1", "127.0.0.0", "127.0.1.2", "::1", "a.example"]) {
    equal(injectionAt(address), undefined);
  }
});

Deno.test("headers are filled with secrets, behind their prefixes", () => {
  const rules = rulesOf({
    inject: [{
      url: "https://a.example",
      env: "A",
      headers: { Authorization: { prefix: "Bearer ", ...KEY }, "X-Api-Key": KEY, "x-team": "blue" },
    }, { url: "https://b.example", env: "B" }],
  });
  deepEqual(fillHeaders(rules, ({ store, key }) => `${store}.${key}`), [
    { authorization: "Bearer keys.k", "x-api-key": "keys.k", "x-team": "blue" },
    {},
  ]);
  for (const secret of ["", "a\r\nx: y", "a\n", " a", "a\0", "\u20ac"]) {
    throws(() => fillHeaders(rules, () => secret), {
      code: "invalid",
      message: /^The value of "k" in SecretStore "keys" cannot be the header "authorization"/,
    });
  }
});
