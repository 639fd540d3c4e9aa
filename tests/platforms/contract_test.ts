/**
 * The rules of all platforms, over their samples and real requests; a new platform is tested from
 * its first line on.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { createHmac } from "node:crypto";
import type { JsonObject } from "../../src/base/json.ts";
import { defaultHeader, type EventId, type Platform } from "../../src/platforms/platform.ts";
import { platformOf, PLATFORMS } from "../../src/platforms/platforms.ts";
import { findScheme } from "../../src/platforms/schemes.ts";
import type { Verdict } from "../../src/signatures/scheme.ts";
import {
  type Case,
  CASES,
  keysOf,
  optionsOf,
  requestOf,
  unsigned,
} from "../signatures/platform_cases.ts";
import { type Payload, type SampleEvent, SAMPLES, type SampleUnsigned } from "./sample.ts";

/** What a trigger says to a request: one that names the platform, or only its header. */
async function verify(
  scheme: string,
  one: Case,
  changes: Partial<Case> = {},
  secret = one.secret,
): Promise<Verdict | undefined> {
  const found = findScheme(scheme, one.header);
  return await found?.verify(requestOf(one, changes), keysOf(secret), optionsOf(one));
}

function idOf(platform: Platform, event: SampleEvent): EventId | undefined {
  return platform.eventId?.({
    payload: event.payload as JsonObject,
    header: (name) => event.headers?.[name],
    signatureHeader: event.signatureHeader ?? defaultHeader(platform).toLowerCase(),
    isSigned: true,
    messageId: event.messageId,
  });
}

function handshakeOf(platform: Platform, payload: Payload, secret?: string) {
  const [key] = secret === undefined ? [] : keysOf(secret);
  return platform.handshake?.(payload as JsonObject, key);
}

/** What the unsigned handshake of a platform makes of a request, in the terms of a sample. */
function unsignedOf(platform: Platform, one: SampleUnsigned): SampleUnsigned["answer"] {
  const { query = "", headers = {}, body = "", data = {} } = one;
  const parameters = new URLSearchParams(query);
  const answer = platform.unsignedHandshake?.answer({
    body: new TextEncoder().encode(body),
    header: (name) => headers[name],
    signatureHeader: defaultHeader(platform).toLowerCase(),
    query: (name) => parameters.get(name) ?? undefined,
  }, Object.entries(data).map(([name, value]) => ({ name, value })));
  if (answer === undefined) return undefined;
  if ("refused" in answer) return answer.refused;
  if (answer.status === 204) return [204, ""];
  const { status, body: text, headers: more } = answer;
  return more === undefined ? [status, text] : [status, text, more];
}

/** The text that the answer to a handshake sends back. */
function echoedOf({ answer }: SampleUnsigned): string {
  const body = Array.isArray(answer) ? answer[1] : "";
  return body.startsWith("{") ? Object.values(JSON.parse(body)).join() : body;
}

/** Whether the answer sends back what the request brought. */
function isEchoed(one: SampleUnsigned): boolean {
  const { query = "", headers = {}, body = "" } = one;
  const echoed = echoedOf(one);
  return echoed !== "" && [query, body, ...Object.values(headers)].join().includes(echoed);
}

function toText(one: SampleUnsigned): string {
  return JSON.stringify(one).slice(0, 500);
}

Deno.test("no two platforms have a name or a header in common", () => {
  const names = PLATFORMS.map(({ name }) => name);
  const headers = PLATFORMS.flatMap((one) => one.headers.map((header) => header.toLowerCase()));
  equal(new Set(names).size, names.length);
  equal(new Set(headers).size, headers.length);
  ok(!headers.includes("authorization"), "everybody's");
});

for (const platform of PLATFORMS) {
  const { name, title, headers, auto, docs } = platform;
  const cases = CASES.filter(({ scheme }) => scheme === name);
  const sample = SAMPLES.get(name) ?? { handshakes: [], events: [] };
  const test = (criterion: string, fn: () => void | Promise<void>) =>
    Deno.test(`${name}: ${criterion}`, fn);

  test("is found by its name and by each of its headers", () => {
    ok(/^[a-z][a-z0-9-]*$/.test(name));
    ok([title, docs.signs, docs.eventId].every((text) => text !== ""));
    equal(platformOf(name, undefined), platform);
    for (const header of headers) {
      for (const spelled of [header, header.toLowerCase(), header.toUpperCase()]) {
        equal(platformOf("auto", spelled), platform);
      }
    }
  });

  test("has a real request, whose signature the scheme of its name accepts", async () => {
    ok(cases.length > 0);
    for (const one of cases) equal((await verify(name, one))?.ok, true, one.name);
  });

  test(`a trigger with only its header ${auto ? "accepts" : "refuses"} it`, async () => {
    equal(auto && headers.length === 0, false, "without a header of its own it has to be named");
    if (headers.length === 0) return; // the scheme of that header decides
    for (const one of cases) equal((await verify("auto", one))?.ok, auto, one.name);
  });

  for (const scheme of headers.length === 0 ? [name] : [name, "auto"]) {
    test(`${scheme} refuses another key, a changed byte and no signature`, async () => {
      for (const one of cases) {
        const changed = new Uint8Array([...one.body, 0x20]);
        equal((await verify(scheme, one, {}, one.otherSecret))?.ok, false, "another key");
        if (one.signs.secret === undefined) {
          equal((await verify(scheme, one, unsigned(one)))?.ok, false, "no signature");
        }
        if (one.signs.body === false) continue;
        equal((await verify(scheme, one, { body: changed }))?.ok, false, "a byte more");
      }
    });
  }

  test("auto never takes SHA-1 under its headers", async () => {
    for (const one of cases.filter(({ header, headers }) => Object.hasOwn(headers, header))) {
      for (const encoding of ["hex", "base64"] as const) {
        const digest = createHmac("sha1", one.secret).update(one.body).digest(encoding);
        for (const prefix of ["", "sha1=", "sha256=", "v0=", "v1=", "v1,"]) {
          const signed = { ...one.headers, [one.header]: prefix + digest };
          equal((await verify("auto", one, { headers: signed }))?.ok, false, prefix + digest);
        }
      }
    }
  });

  test("answers its handshakes, which are no events", () => {
    equal(sample.handshakes.length > 0, platform.handshake !== undefined);
    for (const { payload, secret, answer: [status, body] } of sample.handshakes) {
      const answer = handshakeOf(platform, payload, secret);
      deepEqual([answer?.status, answer?.status === 200 ? answer.body : ""], [status, body]);
    }
  });

  test("answers its unsigned handshakes, and nothing that a stranger could make harmful", () => {
    const { unsigned = [] } = sample;
    equal(unsigned.length > 0, platform.unsignedHandshake !== undefined);
    for (const one of unsigned) deepEqual(unsignedOf(platform, one), one.answer, toText(one));
    for (const one of unsigned.filter((one) => isEchoed(one))) {
      const { query = "", headers = {}, body = "" } = one;
      for (const bad of ["<script>", "a\r\nb", "a\0", "x".repeat(5000), '"', ""]) {
        const echoed = echoedOf(one);
        const other = {
          ...one,
          query: query.replaceAll(encodeURIComponent(echoed), encodeURIComponent(bad)),
          headers: Object.fromEntries(
            Object.entries(headers).map(([key, value]) => [key, value.replaceAll(echoed, bad)]),
          ),
          body: body.replaceAll(echoed, bad),
        };
        equal(unsignedOf(platform, other), undefined, toText(other));
      }
    }
  });

  test("takes the id of an event, and no event for a handshake", () => {
    const has = (signed: boolean) => sample.events.some(({ id }) => id?.signed === signed);
    equal(has(true) || has(false), platform.eventId !== undefined);
    for (const event of sample.events) {
      deepEqual(idOf(platform, event), event.id, JSON.stringify(event));
      equal(handshakeOf(platform, event.payload), undefined, JSON.stringify(event));
    }
  });

  test("takes nothing else for a handshake or an id, and never fails", () => {
    const fields = [...sample.handshakes, ...sample.events].flatMap((one) =>
      Object.keys(one.payload)
    );
    for (const value of [null, 0, "", [], {}, [null], [[]], [{}]]) {
      const payload = Object.fromEntries(fields.map((field) => [field, value]));
      for (const one of [payload, {}]) {
        equal(handshakeOf(platform, one), undefined, JSON.stringify(one));
        equal(idOf(platform, { payload: one }), undefined, JSON.stringify(one));
      }
    }
  });
}
