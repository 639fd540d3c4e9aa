/**
 * Identifiers.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  notStrictEqual as notEqual,
  strictEqual as equal,
} from "node:assert/strict";
import { eventId, firstIdAt, idFactory } from "../../src/base/ids.ts";

Deno.test("eventId is the time and eighty bits of the SHA-256 of the text, in Crockford's base32", () => {
  // The digits were made with Python's hashlib and base64.
  equal(eventId(0, "a"), "0000000000SABR24PA3EYWNYP2");
  equal(eventId(1_700_000_000_000, "a"), "01HF7YAT00SABR24PA3EYWNYP2");
});

Deno.test("eventId gives the same for the same event, and another for another", () => {
  equal(eventId(5, "push at noon"), eventId(5, "push at noon"));
  notEqual(eventId(5, "push at noon"), eventId(5, "push at one"));
  notEqual(eventId(5, "push at noon"), eventId(6, "push at noon"));
});

Deno.test("eventId sorts among the ids made at its time", () => {
  const at = (ms: number) => idFactory({ now: () => ms })();
  const ids = [at(1000), eventId(2000, "x"), at(3000), eventId(4000, "y")];
  deepEqual(ids.toSorted(), ids);
  equal(eventId(2000, "x").startsWith(firstIdAt(2000)), true);
});

Deno.test("idFactory draws each of the 32 digits equally often, and sorts what one moment brings", () => {
  let ms = 1_700_000_000_000;
  const next = idFactory({ now: () => ms });
  const counts = new Map<string, number>();
  const ids = Array.from({ length: 2000 }, () => {
    ms++;
    const id = next();
    for (const digit of id.slice(10)) counts.set(digit, (counts.get(digit) ?? 0) + 1);
    return id;
  });
  equal(new Set(ids.map((id) => id.slice(10))).size, 2000);
  equal([...counts.keys()].toSorted().join(""), "0123456789ABCDEFGHJKMNPQRSTVWXYZ");
  const expected = 2000 * 16 / 32; // standard deviation 31
  deepEqual([...counts].filter(([, count]) => Math.abs(count - expected) > 200), []);
  const ofOneMoment = Array.from({ length: 100 }, next);
  deepEqual(ofOneMoment.toSorted(), ofOneMoment);
});
