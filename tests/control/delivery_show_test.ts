/**
 * `delivery.show` of large bodies: the beginning of a body unless all of it is asked for, cut
 * between two characters.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { utf8 } from "../../src/base/bytes.ts";
import { type ControlRig, controlTest } from "../rigs/control_rig.ts";

const LIMIT = 256 * 1024;

const TRIGGER = JSON.stringify({
  kind: "Trigger",
  metadata: { name: "now" },
  spec: {
    event: { source: "webhook", webhook: { allowUnsigned: true } },
    action: { workflow: "none", workspace: "none" },
  },
});

/** A JSON body of so many bytes that ends with as many `sign`s as fit. */
function bodyOf(bytes: number, sign: string, lead = 0): string {
  const open = `{"t":"${"x".repeat(lead)}`;
  const room = bytes - utf8(open).length - 2;
  const signs = Math.floor(room / utf8(sign).length);
  const body = `${open}${sign.repeat(signs)}${"x".repeat(room % utf8(sign).length)}"}`;
  equal(utf8(body).length, bytes);
  return body;
}

async function shown(rig: ControlRig, body: string) {
  const id = String((await rig.post("now", body))["delivery_id"]);
  const [cut, all] = [
    await rig.client.call("delivery.show", { id }),
    await rig.client.call("delivery.show", { id, whole: true }),
  ];
  equal(all.body, body);
  deepEqual([all.truncated, all.body_bytes], [false, utf8(body).length]);
  equal(cut.body_bytes, utf8(body).length);
  return cut;
}

controlTest("delivery.show gives a body of 256 KiB whole, and cuts a longer one", async (rig) => {
  await rig.apply(TRIGGER);
  const exact = bodyOf(LIMIT, "y");
  const whole = await shown(rig, exact);
  deepEqual([whole.truncated, whole.body === exact], [false, true]);
  const longer = bodyOf(LIMIT + 1, "y");
  const cut = await shown(rig, longer);
  deepEqual([cut.truncated, cut.body_encoding], [true, "text"]);
  equal(cut.body, longer.slice(0, LIMIT));
});

controlTest(
  "delivery.show cuts a text between two characters, whatever their length",
  async (rig) => {
    await rig.apply(TRIGGER);
    const left = new Set<number>();
    for (const sign of ["é", "€", "😀"]) {
      for (let lead = 0; lead < utf8(sign).length; lead++) {
        const body = bodyOf(LIMIT + 100, sign, lead);
        const cut = await shown(rig, body);
        deepEqual([cut.truncated, cut.body_encoding], [true, "text"], sign);
        ok(body.startsWith(cut.body), "no character is another");
        const bytes = utf8(cut.body).length;
        ok(bytes <= LIMIT && bytes > LIMIT - utf8(sign).length, `${bytes} bytes`);
        left.add(LIMIT - bytes);
      }
    }
    deepEqual([...left].toSorted(), [0, 1, 2, 3], "the cut fell at every place of a character");
  },
);
