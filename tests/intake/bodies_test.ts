/**
 * What a body means: a form or JSON, decided by nothing that a stranger can change under
 * a signature, and read in time that grows with its length only. In process, with a real store.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { answerOf, FORM, github, slack, twilio } from "../helpers/senders.ts";
import { NOW } from "../rigs/intake_state.ts";
import { MANIFEST, type Rig, triggerYaml, webhookRig } from "../rigs/webhook_rig.ts";

const SLACK = "secret: {fromRef: github}, signatureHeader: X-Slack-Signature";
const TWILIO = "secret: {fromRef: github}, scheme: twilio, publicUrl: https://h/in";

const TRIGGERS = MANIFEST + triggerYaml("slack", { webhook: SLACK }) +
  triggerYaml("twilio", { webhook: TWILIO }) +
  triggerYaml("open", { webhook: "allowUnsigned: true" });

/** The payload that the newest task got. */
async function payloadOf(rig: Rig): Promise<string> {
  const { tasks: [claimed] } = await rig.store.claimTasks(1, 1);
  return new TextDecoder().decode(claimed?.payload);
}

/** Status of an answer, and the reason in the record. */
async function refusal(rig: Rig, response: Promise<Response>): Promise<[number, string]> {
  const { status } = await response;
  equal((await rig.tasks()).length, 0);
  const [delivery] = await rig.deliveries();
  return [status, delivery?.reason ?? ""];
}

Deno.test("forms: the field payload where it stands alone, else the fields themselves", async (t) => {
  const cases = [
    {
      body: `payload=${encodeURIComponent('{"type":"block_actions"}')}`,
      is: '{"type":"block_actions"}',
    },
    { body: "payload=%20%0A%7B%7D", is: " \n{}" },
    { body: "payload=hello", is: '{"payload":"hello"}' },
    {
      body: "command=%2Fdeploy&text=a+b&user_id=U1",
      is: '{"command":"/deploy","text":"a b","user_id":"U1"}',
    },
    // A field beside the platform's own fields is not part of the payload.
    { body: "a=1&payload=%7B%7D", is: '{"a":"1","payload":"{}"}' },
    { body: "payload=%7B%7D&a=1", is: '{"payload":"{}","a":"1"}' },
    { body: "payload=%7B%7D&payload=%7B%7D", is: '{"payload":["{}","{}"]}' },
    { body: "a=1&a=2&__proto__=x", is: '{"a":["1","2"],"__proto__":"x"}' },
    {
      body: "__proto__=1&__proto__=2&constructor=3",
      is: '{"__proto__":["1","2"],"constructor":"3"}',
    },
  ];
  for (const { body, is } of cases) {
    await t.step(body, async () => {
      await using rig = await webhookRig({ manifest: TRIGGERS });
      await answerOf(rig.post("/webhook/slack", body, slack(body, NOW, FORM)));
      equal(await payloadOf(rig), is);
    });
  }
});

Deno.test("a signed JSON body says the same whatever its Content-Type", async (t) => {
  const inside = '{"note":"hi&payload=%7B%22ref%22%3A%22refs%2Fheads%2Fmain%22%7D&"}';
  for (const body of [inside, ` \n\t${inside}`]) {
    for (const type of [FORM, FORM.toUpperCase(), `${FORM}; charset=utf-8`, "application/json"]) {
      await t.step(`${JSON.stringify(body.slice(0, 4))} as ${type}`, async () => {
        await using rig = await webhookRig({ manifest: TRIGGERS });
        await answerOf(rig.post("/webhook/push", body, github(body, type)));
        equal(await payloadOf(rig), body);
      });
    }
  }
  const noObject = [`\ufeff${inside}`, `[${inside}]`, `\n[1,"&payload=%7B%7D&"]`];
  for (const body of noObject) {
    await t.step(`${JSON.stringify(body.slice(0, 4))} as a form is refused`, async () => {
      await using rig = await webhookRig({ manifest: TRIGGERS });
      const [status] = await refusal(rig, rig.post("/webhook/push", body, github(body, FORM)));
      equal(status, 400);
    });
  }
  await t.step("and at the native Slack source", async () => {
    await using rig = await webhookRig({ manifest: TRIGGERS });
    const body =
      '{"type":"event_callback","event_id":"Ev1","x":"&payload=%7B%22type%22%3A%22x%22%7D&"}';
    await answerOf(rig.post("/source/slack/default/slack", body, slack(body, NOW, FORM)));
    const [event] = await rig.store.listSourceEvents({ limit: 2 });
    equal(event?.externalEventId, "Ev1");
  });
});

Deno.test("a signed form is no JSON, whatever its Content-Type", async () => {
  await using rig = await webhookRig({ manifest: TRIGGERS });
  const body = "payload=%7B%22a%22%3A1%7D";
  equal((await rig.post("/webhook/push", body, github(body))).status, 400);
  equal((await rig.post("/webhook/push", body, github(body, "text/plain"))).status, 415);
  const zipped = { ...github(body, FORM), "content-encoding": "gzip" };
  equal((await rig.post("/webhook/push", body, zipped)).status, 415);
  equal((await rig.tasks()).length, 0);
});

/** Field names in no order, as many as asked for. */
function manyFields(count: number): string {
  return Array.from({ length: count }, (_, i) => ((i * 7919) % 16_777_216).toString(16)).join("&");
}

Deno.test("a form with more fields than any platform sends is refused with its reason", async (t) => {
  const many = manyFields(60_000);
  const slackMany = manyFields(36_000);
  const requests: Record<string, (rig: Rig) => Promise<Response>> = {
    "signed": (rig) => rig.post("/webhook/push", many, github(many, FORM)),
    "unsigned": (rig) => rig.post("/webhook/open", many, { "content-type": FORM }),
    "native Slack source": (rig) =>
      rig.post("/source/slack/default/slack", slackMany, slack(slackMany, NOW, FORM)),
  };
  for (const [name, send] of Object.entries(requests)) {
    await t.step(name, async () => {
      await using rig = await webhookRig({ manifest: TRIGGERS });
      deepEqual(await refusal(rig, send(rig)), [400, "The form has more than 1000 fields"]);
    });
  }
  await t.step("a thousand pass, also under one name", async () => {
    await using rig = await webhookRig({ manifest: TRIGGERS });
    const body = "a=1&".repeat(999) + "a=1";
    await answerOf(rig.post("/webhook/push", body, github(body, FORM)));
    equal(JSON.parse(await payloadOf(rig)).a.length, 1000);
  });
});

Deno.test("twilio: only a small body is read before the sender is known", async (t) => {
  const bodies = {
    "many fields": [manyFields(1001), "the form has more than 1000 fields, the most that svc"],
    "nothing but separators": ["&".repeat(1 << 20), "the body has 1048576 bytes, and"],
    "a large field": [`a=${"x".repeat(256 * 1024)}`, "the body has 262146 bytes, and"],
  } as const;
  for (const [name, [body, says]] of Object.entries(bodies)) {
    await t.step(name, async () => {
      await using rig = await webhookRig({ manifest: TRIGGERS, maxBytes: 4 << 20 });
      const text = `https://h/in${body.split("&").sort().join("").replaceAll("=", "")}`;
      const sent = rig.post("/webhook/twilio", body, twilio(text)); // a genuine one is refused, too
      const [status, reason] = await refusal(rig, sent);
      equal(status, 401);
      ok(reason.startsWith(says), reason);
    });
  }
});

Deno.test("twilio: the payload is the signed body", async (t) => {
  const json = '{"a":"&payload=%7B%7D&"}';
  const hash = async (body: string) => {
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(body));
    return new Uint8Array(digest).toHex();
  };
  const send = (rig: Rig, body: string, headers: Record<string, string>, query = "") =>
    rig.post(`/webhook/twilio${query}`, body, headers);

  await t.step("a form, signed with SHA-1 or SHA-256", async () => {
    await using rig = await webhookRig({ manifest: TRIGGERS });
    const body = "To=%2B1+2&Body=a%26b";
    for (const algorithm of ["sha1", "sha256"]) {
      const headers = twilio("https://h/inBodya&bTo+1 2", FORM, algorithm);
      await answerOf(send(rig, body, headers));
      equal(await payloadOf(rig), '{"To":"+1 2","Body":"a&b"}');
    }
    equal((await send(rig, body, twilio("https://h/inBodya&bTo+1 2", FORM, "sha512"))).status, 401);
  });
  await t.step("JSON by its hash, also when it is called a form", async () => {
    await using rig = await webhookRig({ manifest: TRIGGERS });
    const query = `?bodySHA256=${await hash(json)}`;
    for (const type of ["application/json", FORM]) {
      await answerOf(send(rig, json, twilio(`https://h/in${query}`, type), query));
      equal(await payloadOf(rig), json);
    }
  });
  await t.step("JSON without its hash is no form", async () => {
    await using rig = await webhookRig({ manifest: TRIGGERS });
    const [name = "", payload = ""] = decodeURIComponent(json).split("&payload=");
    const headers = twilio(`https://h/in${name}payload${payload}`);
    equal((await send(rig, json, headers)).status, 401);
  });
  await t.step("a message cannot be read as the hash of another body", async () => {
    await using rig = await webhookRig({ manifest: TRIGGERS });
    const evil = '{"evil":true}';
    const text = `&bodySHA256=${await hash(evil)}&`;
    const genuine = `Body=${encodeURIComponent(text)}&To=1`;
    const headers = twilio(`https://h/in?a=1Body${text}To1`);
    await answerOf(send(rig, genuine, headers, "?a=1"));
    const forged = { ...headers, "content-type": "application/json" };
    equal((await send(rig, evil, forged, `?a=1Body${text}To1`)).status, 401);
    match(await payloadOf(rig), /^\{"Body"/);
  });
});
