/**
 * Which webhook triggers may share an endpoint, as a table; and the errors of an apply.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { PLATFORMS } from "../../src/platforms/platforms.ts";
import {
  byEndpoint,
  endpointErrors,
  endpointFault,
  endpointOf,
  type EndpointTrigger,
  faultAt,
  strictestFirst,
} from "../../src/resources/endpoints.ts";
import type { WebhookSpec } from "../../src/resources/event_webhook.ts";

function trigger(name: string, webhook: WebhookSpec, project = "default"): EndpointTrigger {
  return { project, name, spec: { event: { source: "webhook", webhook } } };
}

const cron: EndpointTrigger = {
  project: "default",
  name: "nightly",
  spec: { event: { source: "cron" } },
};

const SIGNED: WebhookSpec = {
  endpoint: "github",
  secret: { fromRef: "github" },
  signatureHeader: "X-Hub-Signature-256",
};

/** What one of two triggers of an endpoint says beyond {@linkcode SIGNED}, and the field that differs. */
const DIFFERENT: readonly (readonly [WebhookSpec, string])[] = [
  [{ secret: { fromRef: "other" } }, "secret"],
  [{ signatureHeader: "X-Signature" }, "signatureHeader"],
  [{ scheme: "gitea" }, "scheme"],
  [{ hmac: { algorithm: "sha256", encoding: "hex" } }, "hmac"],
  [{ crdRef: "Checked" }, "crdRef"],
  [{ allowFrom: ["192.0.2.0/24"] }, "allowFrom"],
  [{ publicUrl: "https://hooks.example.com/x" }, "publicUrl"],
  [{ toleranceSecs: 60 }, "toleranceSecs"],
  [{ allowUnsigned: true }, "allowUnsigned"],
  [{ body: "any" }, "body"],
];

for (const [more, field] of DIFFERENT) {
  Deno.test(`triggers of one endpoint may not differ in ${field}`, () => {
    const [a, b] = [trigger("a", SIGNED), trigger("b", { ...SIGNED, ...more })];
    for (const pair of [[a, b], [b, a]] as const) {
      const fault = endpointFault(...pair) ?? "";
      match(fault, /^Triggers "[ab]" and "[ab]" share the endpoint "github" and differ in /);
      match(fault, new RegExp(`"${field}"`));
    }
    equal(endpointFault(a, { ...b, name: "c", spec: a.spec }), undefined);
  });
}

Deno.test("what a trigger does with its events may differ, and so may the order of keys", () => {
  const hmac = { algorithm: "sha256", encoding: "hex", prefix: "v=" } as const;
  const turned = { prefix: "v=", encoding: "hex", algorithm: "sha256" } as const;
  const a = trigger("a", { ...SIGNED, scheme: "hmac", hmac });
  const b = trigger("b", {
    ...SIGNED,
    scheme: "hmac",
    hmac: turned,
    dedup: "bytes",
    recordRejected: true,
    rateLimit: { perMinute: 1, reject: true },
    debounce: { secs: 5 },
    slack: {},
  });
  equal(endpointFault(a, b), undefined);
});

Deno.test("how one and the same scheme is written may differ, for every platform of auto", () => {
  const platforms = PLATFORMS.filter(({ auto, headers }) => auto && headers.length > 0);
  ok(platforms.length > 5);
  for (const { name, headers: [header = "", ...others] } of platforms) {
    const secret = { fromRef: "s" };
    const same: readonly WebhookSpec[] = [
      { endpoint: "e", secret, scheme: name },
      { endpoint: "e", secret, signatureHeader: header },
      { endpoint: "e", secret, scheme: "auto", signatureHeader: header.toUpperCase() },
      { endpoint: "e", secret, scheme: name, signatureHeader: header.toLowerCase() },
    ];
    for (const a of same) {
      for (const b of same) equal(endpointFault(trigger("a", a), trigger("b", b)), undefined, name);
    }
    for (const other of others) {
      const fault = endpointFault(
        trigger("a", same[0]!),
        trigger("b", { endpoint: "e", secret, signatureHeader: other }),
      );
      match(fault ?? "", /differ in "(scheme|signatureHeader)"/, `${name} under ${other}`);
    }
  }
  const general = { endpoint: "e", secret: { fromRef: "s" } };
  equal(
    endpointFault(trigger("a", general), trigger("b", { ...general, scheme: "sha256" })),
    undefined,
  );
});

Deno.test("a trigger that names its scheme checks the requests of those that do not", () => {
  const a = trigger("a", { signatureHeader: "X-Slack-Signature" });
  const b = trigger("b", { scheme: "slack" });
  deepEqual(strictestFirst([a, b]).map(({ name }) => name), ["b", "a"]);
  deepEqual(strictestFirst([b, a]).map(({ name }) => name), ["b", "a"]);
});

Deno.test("an endpoint is not the name of a trigger that has another one", () => {
  const named = trigger("push", SIGNED);
  const taker = trigger("other", { ...SIGNED, endpoint: "push" });
  for (const pair of [[named, taker], [taker, named]] as const) {
    match(
      endpointFault(...pair) ?? "",
      /^Trigger "other" has the endpoint "push", and that is the name of Trigger "push", which has the endpoint "github"/,
    );
  }
  const { endpoint: _own, ...plain } = SIGNED;
  equal(endpointFault(trigger("push", plain), taker), undefined, "its own endpoint is shared");
  equal(endpointFault(cron, trigger("x", { ...SIGNED, endpoint: "nightly" })), undefined);
});

Deno.test("endpointOf() is the trigger's own name where it has none, and nothing without requests", () => {
  equal(endpointOf(trigger("a", SIGNED)), "github");
  equal(endpointOf(trigger("a", {})), "a");
  equal(endpointOf(cron), undefined);
});

Deno.test("byEndpoint() keeps projects apart", () => {
  const triggers = [
    trigger("a", SIGNED),
    trigger("b", SIGNED),
    cron,
    trigger("a", SIGNED, "shop"),
    trigger("github", { secret: { fromRef: "github" } }, "shop"),
  ];
  deepEqual(
    [...byEndpoint(triggers)].map(([key, group]) => [key, group.map(({ name }) => name)]),
    [["default\ngithub", ["a", "b"]], ["shop\ngithub", ["a", "github"]]],
  );
});

Deno.test("faultAt() looks at every trigger, and at the trigger of that name", () => {
  const same = [trigger("a", SIGNED), trigger("b", SIGNED)];
  equal(faultAt(same, undefined), undefined);
  equal(faultAt([], undefined), undefined);
  match(
    faultAt([...same, trigger("c", { ...SIGNED, toleranceSecs: 1 })], undefined) ?? "",
    /"toleranceSecs"/,
  );
  match(
    faultAt([trigger("a", SIGNED)], trigger("github", { ...SIGNED, endpoint: "z" })) ?? "",
    /the name of Trigger "github"/,
  );
});

Deno.test("endpointErrors() says each fault of what is stated once, and none of others", () => {
  const a = trigger("a", SIGNED);
  const b = trigger("b", { ...SIGNED, scheme: "gitea" });
  const place = (name: string) => ({ project: "default", name, place: `${name}.yaml:1:1: ` });
  const both = endpointErrors([place("a"), place("b")], [a, b, cron]);
  equal(both.length, 1);
  match(both[0] ?? "", /^a\.yaml:1:1: Triggers "a" and "b" .* "scheme"/);
  match(endpointErrors([place("b")], [a, b])[0] ?? "", /^b\.yaml:1:1: Triggers "a" and "b" /);
  const c = trigger("c", { secret: { fromRef: "c" } });
  deepEqual(endpointErrors([place("c")], [a, b, c]), [], "they were like that before");
  deepEqual(endpointErrors([], [a, b]), []);
  equal(endpointErrors([place("b")], [a, b, trigger("d", SIGNED)]).length, 1, "one mistake");
  const named = trigger("b", { ...SIGNED, endpoint: "a" });
  match(
    endpointErrors([place("a")], [a, named])[0] ?? "",
    /^a\.yaml:1:1: Trigger "b" has the endpoint "a", and that is the name of Trigger "a"/,
  );
  match(endpointErrors([place("b")], [a, named])[0] ?? "", /^b\.yaml:1:1: Trigger "b" has/);
});
