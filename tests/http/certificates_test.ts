/**
 * Certificates are fetched once, and strangers cannot have a platform's servers asked at will.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { Certificates } from "../../src/http/certificates.ts";
import type { PostAnswer } from "../../src/http/send.ts";

const PEM = "-----BEGIN CERTIFICATE-----\n";
const URL_OF = (name: string | number, host = "sns.eu-central-1.amazonaws.com") =>
  `https://${host}/${name}.pem`;

/** A cache whose server gives `answers` by URL, PEM where there is none. */
function cacheOver(answers: Record<string, PostAnswer | Error> = {}) {
  const asked: string[] = [];
  const clock = { time: 1_700_000_000_000 };
  const get = (url: string) => {
    asked.push(url);
    const answer = answers[url] ?? { status: 200, answer: PEM };
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  };
  const cache = new Certificates(get, { now: () => clock.time });
  return { cache, asked, clock, answers };
}

Deno.test("a certificate is fetched once, also for those who ask at the same time", async () => {
  const { cache, asked, clock } = cacheOver();
  const url = URL_OF(1);
  const found = await Promise.all([cache.find(url), cache.find(url), cache.find(url)]);
  deepEqual(found, [{ pem: PEM }, { pem: PEM }, { pem: PEM }]);
  clock.time += 365 * 86_400_000;
  deepEqual(await cache.find(url), { pem: PEM });
  deepEqual(asked, [url]);
});

Deno.test("a failure says what it is, and is remembered for half a minute", async () => {
  const { cache, asked, clock, answers } = cacheOver({
    [URL_OF("gone")]: { status: 404, answer: "" },
    [URL_OF("elsewhere")]: { status: 302, answer: PEM },
    [URL_OF("down")]: { status: 500, answer: "" },
    [URL_OF("away")]: new Error("no route"),
    [URL_OF("page")]: { status: 200, answer: "<html>" },
  });
  const failures = [];
  for (const name of ["gone", "elsewhere", "down", "away", "page"]) {
    const found = await cache.find(URL_OF(name));
    failures.push("failure" in found ? found.failure : "");
    deepEqual(await cache.find(URL_OF(name)), found);
  }
  deepEqual(failures, [
    "certificate_missing",
    "certificate_unreachable",
    "certificate_unreachable",
    "certificate_unreachable",
    "certificate_malformed",
  ]);
  equal(asked.length, 5);
  delete answers[URL_OF("away")];
  clock.time += 30_000;
  deepEqual(await cache.find(URL_OF("away")), { pem: PEM });
});

Deno.test("a host is asked ten times a minute, and what is known stays known", async () => {
  const { cache, asked, clock } = cacheOver();
  await cache.find(URL_OF("genuine"));
  for (let i = 0; i < 500; i++) await cache.find(URL_OF(i));
  equal(asked.length, 10);
  deepEqual(await cache.find(URL_OF("new")), {
    failure: "certificate_unreachable",
    why: "sns.eu-central-1.amazonaws.com was asked 10 times within a minute, the limit",
  });
  deepEqual(await cache.find(URL_OF("genuine")), { pem: PEM });
  deepEqual(await cache.find(URL_OF("a", "sns.us-east-1.amazonaws.com")), { pem: PEM });
  clock.time += 60_000;
  deepEqual(await cache.find(URL_OF("new")), { pem: PEM });
});

Deno.test("failures do not push a certificate out", async () => {
  const answers = Object.fromEntries(
    Array.from({ length: 300 }, (_, i) => [URL_OF(i), { status: 404, answer: "" }]),
  );
  const { cache, asked, clock } = cacheOver(answers);
  await cache.find(URL_OF("genuine"));
  for (let i = 0; i < 300; i++) {
    await cache.find(URL_OF(i));
    clock.time += 7000;
  }
  const before = asked.length;
  equal(before, 301);
  deepEqual(await cache.find(URL_OF("genuine")), { pem: PEM });
  equal(asked.length, before);
});
