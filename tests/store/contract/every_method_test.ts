/**
 * Whether the contract says something of every method.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok } from "node:assert/strict";
import { eachStore } from "./each_store.ts";

const HERE = new URL(".", import.meta.url);
/** What the cases fill the store with. */
const RECORDS = new URL("../../helpers/store_records.ts", import.meta.url);

eachStore("every method of the store is called in a case of its contract", (store) => {
  const files = [...Deno.readDirSync(HERE)].map(({ name }) => new URL(name, HERE));
  const cases = [...files, RECORDS].map((file) => Deno.readTextFileSync(file)).join("\n");
  const methods = Object.entries(store).filter(([, value]) => typeof value === "function")
    .map(([name]) => name);
  ok(methods.length > 50, "its methods are properties of its own");
  deepEqual(methods.filter((name) => !cases.includes(`.${name}(`)), []);
  return Promise.resolve();
});
