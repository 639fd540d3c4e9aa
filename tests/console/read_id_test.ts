import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { readId } from "../../console/page/pages/search/read_id.ts";

const ID = "01KAQB3S7ZHVNDTXGWQKEMBSRF";

Deno.test("an id is one from its beginning, from its end, as a list cuts it and with its type", () => {
  for (const text of [ID, ID.toLowerCase(), ID.slice(0, 6), ID.slice(-4) + "7", ` ${ID} `]) {
    deepEqual(readId(text), { part: text.trim() });
  }
  deepEqual(readId(`…${ID.slice(-6)}`), { part: ID.slice(-6) });
  for (const text of [`task/${ID}`, `TASK/…${ID}`]) {
    const { type, part } = readId(text) ?? {};
    deepEqual([type?.name, part], ["task", ID]);
  }
  deepEqual(readId("task/main")?.type?.name, undefined, "no id has an I");
  deepEqual(readId("task/reps")?.type?.name, "task");
});

Deno.test("the end of an id that has no digit by chance is one; a short word is not", () => {
  deepEqual(readId(ID.slice(-6)), { part: "EMBSRF" });
  deepEqual(readId(ID.slice(-8)), { part: "QKEMBSRF" });
  for (
    const word of ["push", "test", "PUS", "github", "deploy-7", "fits no key", "other/thing1", ""]
  ) {
    deepEqual(readId(word), undefined, word);
  }
});
