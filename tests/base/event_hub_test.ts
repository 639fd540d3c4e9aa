import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { EventHub } from "../../src/base/event_hub.ts";

interface Events {
  readonly said: string;
  readonly done: undefined;
}

function hub() {
  const logged: unknown[] = [];
  const events = new EventHub<Events>({ error: (...line) => void logged.push(line) });
  return { events, logged };
}

Deno.test("an event reaches its listeners, in their order, before publish returns", () => {
  const { events } = hub();
  const heard: string[] = [];
  events.on("said", (text) => void heard.push(`first ${text}`));
  events.on("done", () => void heard.push("done"));
  events.on("said", (text) => void heard.push(`second ${text}`));
  events.publish("said", "a");
  deepEqual(heard, ["first a", "second a"]);
  events.publish("done", undefined);
  deepEqual(heard, ["first a", "second a", "done"]);
});

Deno.test("a listener that fails is logged, and stops neither the publisher nor the others", () => {
  const { events, logged } = hub();
  const heard: string[] = [];
  const error = new Error("broken");
  events.on("said", () => {
    throw error;
  });
  events.on("said", (text) => void heard.push(text));
  events.publish("said", "a");
  deepEqual(heard, ["a"]);
  deepEqual(logged, [["a listener failed", { event: "said", error }]]);
});

Deno.test("a subscription ends alone, also when the same function has another one", () => {
  const { events } = hub();
  const heard: string[] = [];
  const listener = (text: string) => void heard.push(text);
  const first = events.on("said", listener);
  const second = events.on("said", listener);
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  events.publish("said", "a");
  deepEqual(heard, ["a"]);
  second[Symbol.dispose]();
  events.publish("said", "b");
  deepEqual(heard, ["a"]);
});

Deno.test("a listener added or removed while an event is published changes nothing for that event", () => {
  const { events } = hub();
  const heard: string[] = [];
  events.on("said", (text) => {
    heard.push(`a ${text}`);
    later[Symbol.dispose]();
    events.on("said", (text) => void heard.push(`late ${text}`));
  });
  const later = events.on("said", (text) => void heard.push(`b ${text}`));
  events.publish("said", "1");
  deepEqual(heard, ["a 1", "b 1"]);
  equal(heard.length, 2);
});
