/**
 * The signature doctor: a real mistake for every cause, and the limits of its work.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { defined } from "../../src/base/defined.ts";
import { diagnose, type Diagnosis } from "../../src/signatures/doctor.ts";
import { findScheme, SCHEMES } from "../../src/platforms/schemes.ts";
import { BODY, hex, mac, type Mistake, MISTAKES, NOW, SECRET, sha256 } from "./doctor_cases.ts";
import { keysOf, lowerCase } from "./platform_cases.ts";
import { cpuMs } from "../helpers/cpu_time.ts";

function examine(mistake: Mistake, extra: Readonly<Record<string, string>> = {}) {
  const { headers, body = BODY, url = "https://svc.example/webhook/t", now = NOW } = mistake;
  const { arrivedUrl = url } = mistake;
  const { scheme: name = "auto", signatureHeader, hmac, secrets = [SECRET], others } = mistake;
  const scheme = findScheme(name, signatureHeader);
  ok(scheme);
  return diagnose(
    {
      body: typeof body === "string" ? new TextEncoder().encode(body) : body,
      headers: { host: "svc.example", ...extra, ...lowerCase(headers) },
      url,
      arrivedUrl,
      now: now * 1000,
    },
    {
      stores: [
        { store: "unrelated", keys: keysOf("unrelated") },
        { store: "own", keys: keysOf(...secrets) },
        ...(others === undefined ? [] : [{ store: "theirs", keys: keysOf(...others) }]),
      ],
      schemes: SCHEMES,
    },
    {
      scheme,
      options: {
        signatureHeader: (signatureHeader ?? scheme.defaultHeader).toLowerCase(),
        toleranceSecs: 300,
        ...defined({ hmac }),
      },
      store: "own",
    },
  );
}

for (const [cause, mistakes] of Object.entries(MISTAKES)) {
  Deno.test(`diagnose finds ${cause}`, async () => {
    for (const mistake of mistakes) {
      const found = await examine(mistake);
      const [first] = found;
      ok(first, `nothing found for ${mistake.says}`);
      equal(first.cause, cause);
      match(first.message, mistake.says);
    }
  });
}

Deno.test("diagnose never shows a secret or a signature that would be right", async () => {
  for (const mistake of Object.values(MISTAKES).flat()) {
    const text = JSON.stringify(await examine(mistake));
    for (const secret of [...(mistake.secrets ?? [SECRET]), ...(mistake.others ?? [])]) {
      ok(!text.includes(secret) || secret.length < 4, text);
    }
    ok(!/[0-9a-f]{40}|[A-Za-z0-9+/]{40}/.test(text), text);
  }
});

Deno.test("diagnose finds two mistakes at once, and says both", async () => {
  const [first] = await examine({
    headers: { "X-Hub-Signature": `sha1=${mac("sha1", SECRET, BODY, "hex")}` },
    secrets: [`${SECRET}\n`],
    says: /./,
  });
  equal(first, undefined); // three of them: another header, another algorithm, a line break
  const [found] = await examine({
    headers: { "X-Hub-Signature-256": `sha256=${hex(BODY)}` },
    secrets: [`${SECRET}\n`],
    says: /./,
  });
  equal(found?.cause, "signature_in_another_header");
  match(found?.message ?? "", /set signatureHeader: x-hub-signature-256\. And: .* whitespace/);
});

Deno.test("diagnose finds nothing where nothing would pass", async () => {
  const nothing: readonly Diagnosis[] = [];
  const rows: readonly Omit<Mistake, "says">[] = [
    { headers: {} },
    { headers: sha256(BODY, "a secret that nobody has") },
    { headers: sha256("{}") },
    { headers: sha256(BODY), secrets: [] },
    { headers: sha256(BODY), secrets: [""] },
    { headers: sha256(BODY, "x"), secrets: ["whpk_"] },
    { headers: { "X-Webhook-Signature": "\u0000".repeat(9) }, body: new Uint8Array([255, 0]) },
    { headers: sha256(BODY, "x"), body: "[".repeat(100_000) },
    { headers: { "X-Webhook-Signature": "sha256=" }, url: "::", body: "" },
  ];
  for (const row of rows) deepEqual(await examine({ ...row, says: /./ }), nothing);
});

Deno.test("diagnose proposes no signed URL where the URL is not known", async () => {
  const of = (signature: string, more: Partial<Mistake> = {}) =>
    examine({
      headers: { "X-Webhook-Signature": signature, "X-Time": String(NOW) },
      url: "",
      says: /./,
      ...more,
    });
  const found = await of(mac("sha256", SECRET, BODY, "base64"));
  deepEqual(found.map(({ cause }) => cause), ["other_encoding"]);
  ok(!JSON.stringify(found).includes("{url}"));
  ok(!JSON.stringify(await of(`sha256=${hex(`${NOW}${BODY}`)}`)).includes("{url}"));
  // Nor does it say that a request passes which signs the body where the trigger wants the URL, too.
  const hmac = { algorithm: "sha256", template: "{url}{body}" } as const;
  const other = await of(hex(BODY), { scheme: "hmac", hmac });
  ok(!other.some(({ cause }) => cause === "passes_now"), JSON.stringify(other));
});

Deno.test("diagnose never advises an HMAC under a public key", async () => {
  const secret = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
  const headers = {
    "X-Signature-Ed25519": `sha256=${hex(BODY, secret)}`,
    "X-Signature-Timestamp": String(NOW),
  };
  for (
    const [scheme, signatureHeader] of [["discord", "X-Signature-Ed25519"], [
      "auto",
      "X-Signature-Ed25519",
    ]]
  ) {
    const attempt = { headers, secrets: [secret], scheme, signatureHeader, says: /./ } as Mistake;
    deepEqual(await examine(attempt), []);
  }
});

Deno.test("diagnose ends soon, whatever it is given", async () => {
  const noise = Object.fromEntries(
    Array.from({ length: 90 }, (_, i) => [`x-noise-${i}`, i % 2 ? hex(`${i}`) : String(NOW + i)]),
  );
  const secrets = Array.from({ length: 200 }, (_, i) => `secret ${i}`);
  const body = new Uint8Array(2 * 1024 * 1024).fill(0x20);
  const started = cpuMs();
  deepEqual(await examine({ headers: sha256(BODY, "no"), secrets, says: /./ }, noise), []);
  deepEqual(await examine({ headers: sha256(BODY, "no"), secrets, body, says: /./ }, noise), []);
  ok(cpuMs() - started < 10_000);
});
