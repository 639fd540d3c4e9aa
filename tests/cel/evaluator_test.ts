/**
 * The evaluator: no expression and no payload holds up the event loop, costly ones end at the
 * deadline, and the next one works.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { type JsonObject, parseOwnJson } from "../../src/base/json.ts";
import { createEvaluator, type Evaluator } from "../../src/cel/evaluator.ts";
import { type CelResult, compileExpression, scopeOf } from "../../src/cel/expression.ts";
import { cpuMs } from "../helpers/cpu_time.ts";
import { NOT_SLOW } from "../helpers/program.ts";
import { skippable } from "../helpers/requirements.ts";
import { PATIENCE_MS } from "../helpers/until.ts";

/** Cheap questions stay far below it on a busy machine too, costly ones go far beyond it. */
const DEADLINE_MS = 1500;

/** The deadline of tests in which every question is costly: none of them shall be answered. */
const SHORT_DEADLINE_MS = 300;

/** Most work at a stretch, in which the daemon answers no request, in milliseconds. */
const STALL_MS = 500;

const evaluator = () => createEvaluator({ deadlineMs: DEADLINE_MS });

/** Evaluates over a payload; what is thrown at once becomes a rejection. */
async function evaluate(
  over: Evaluator,
  source: string,
  payload: unknown = {},
  share = "",
): Promise<CelResult> {
  return await over.evaluate(compileExpression(source), scopeOf({ payload } as JsonObject, share));
}

/**
 * What `work` gives, and the longest time for which this thread was at work before a timer came.
 */
async function watched<T>(work: () => Promise<T>): Promise<{ result: T; stallMs: number }> {
  let last = cpuMs();
  let stallMs = 0;
  const look = () => {
    const now = cpuMs();
    stallMs = Math.max(stallMs, now - last);
    last = now;
  };
  const timer = setInterval(look, 5);
  try {
    const result = await work();
    look();
    return { result, stallMs };
  } finally {
    clearInterval(timer);
  }
}

const errorOf = (result: CelResult) => result.ok ? "" : result.error;
const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);

const SLOW = "payload_a.all(x, payload_a.all(y, x + y >= 0))";
const SLOW_PAYLOAD = { a: numbers(10_000) };

Deno.test("evaluate cuts a loop in a loop over 10,000 items at the deadline and timers go on", async () => {
  using over = evaluator();
  await evaluate(over, "[1].all(x, x == 1)"); // the Worker is there
  const { result, stallMs } = await watched(() => evaluate(over, SLOW, SLOW_PAYLOAD));
  match(errorOf(result), /took longer than 1500 ms/);
  ok(stallMs < STALL_MS, `stalled for ${stallMs.toFixed(0)} ms`);
});

Deno.test(skippable("evaluate works again after a cut", NOT_SLOW), async () => {
  using over = evaluator();
  for (let i = 0; i < 2; i++) { // in the quick Worker and then the slow one, then in the slow one
    equal((await evaluate(over, SLOW, SLOW_PAYLOAD)).ok, false);
    const next = await evaluate(over, "payload_a.exists(x, x == 7)", { a: [7] });
    deepEqual(next, { ok: true, value: true });
  }
});

Deno.test("evaluate gives one answer for each of many costly questions at once", async () => {
  using over = evaluator();
  const asked = numbers(150);
  const results = await Promise.all(
    asked.map((n) => evaluate(over, "payload_a.map(x, x + 1)", { a: [n] })),
  );
  deepEqual(results, asked.map((n) => ({ ok: true, value: [BigInt(n) + 1n] })));
});

Deno.test(
  skippable("evaluate keeps answers apart when some of them are cut", NOT_SLOW),
  async () => {
    using over = evaluator();
    const results = await Promise.all([
      evaluate(over, "payload_a.map(x, x)", { a: [1] }),
      evaluate(over, SLOW, SLOW_PAYLOAD),
      evaluate(over, "payload_a.map(x, x)", { a: [2] }),
      evaluate(over, "[1].map(x, payload_missing)"),
      evaluate(over, "payload_a.map(x, x)", { a: [3] }),
    ]);
    deepEqual(results.map((one) => one.ok ? one.value : one.error), [
      [1n],
      "took longer than 1500 ms",
      [2n],
      "no such variable: payload_missing",
      [3n],
    ]);
  },
);

Deno.test("evaluate refuses a condition as overloaded if 200 are waiting, and recovers", async () => {
  using over = evaluator();
  const settled = await Promise.allSettled(
    numbers(300).map(() => evaluate(over, "[1].all(x, x == 1)")),
  );
  const refused = settled.filter((one) => one.status === "rejected");
  equal(refused.length, 100);
  deepEqual(new Set(refused.map((one) => one.reason.code)), new Set(["overloaded"]));
  deepEqual(await evaluate(over, "[1].all(x, x == 1)"), { ok: true, value: true });
});

/** What never ends by itself, and what needs next to nothing. */
const ENDLESS = { a: numbers(30_000) };
const LABELS = { labels: ["bug", "ci"] };
const MODERATE = 'payload_labels.exists(x, x == "ci")';

Deno.test(
  skippable(
    "evaluate answers one trigger before the slow expressions of others that asked earlier",
    NOT_SLOW,
  ),
  async () => {
    using over = createEvaluator({ deadlineMs: 2 * DEADLINE_MS });
    let cut = 0;
    const hostile = numbers(24).map((n) =>
      evaluate(over, SLOW, ENDLESS, `hostile ${n % 3}`).then(() => cut++)
    );
    deepEqual(await evaluate(over, MODERATE, LABELS, "good"), { ok: true, value: true });
    ok(cut < 8, `came after ${cut} slow ones`);
    over[Symbol.dispose]();
    await Promise.all(hostile);
  },
);

Deno.test(
  skippable(
    "evaluate lets no trigger wait for the slow expressions of a trigger that was slow before",
    NOT_SLOW,
  ),
  async () => {
    using over = createEvaluator({ deadlineMs: 2 * DEADLINE_MS });
    await evaluate(over, SLOW, ENDLESS, "hostile");
    let cut = 0;
    const hostile = numbers(40).map(() =>
      evaluate(over, SLOW, ENDLESS, "hostile").then(() => cut++)
    );
    for (const n of numbers(8)) {
      deepEqual(await evaluate(over, MODERATE, LABELS, `good ${n % 2}`), { ok: true, value: true });
    }
    ok(cut < 8, `waited for ${cut} slow ones`);
    over[Symbol.dispose]();
    await Promise.all(hostile);
  },
);

Deno.test(skippable("evaluate lets triggers that are all slow take turns", NOT_SLOW), async () => {
  using over = createEvaluator({ deadlineMs: SHORT_DEADLINE_MS });
  await Promise.all(["a", "b"].map((share) => evaluate(over, SLOW, SLOW_PAYLOAD, share)));
  const order: string[] = [];
  const ask = async (name: string, share: string) => {
    await evaluate(over, SLOW, SLOW_PAYLOAD, share);
    order.push(name);
  };
  await Promise.all([ask("a1", "a"), ask("a2", "a"), ask("a3", "a"), ask("b1", "b")]);
  deepEqual(order, ["a1", "a2", "b1", "a3"]);
});

Deno.test(
  skippable("evaluate refuses no trigger for the expressions of another that wait", NOT_SLOW),
  async () => {
    using over = evaluator();
    const ask = (count: number, share: string) =>
      Promise.allSettled(numbers(count).map(() => evaluate(over, SLOW, ENDLESS, share)));
    const refused = (results: readonly PromiseSettledResult<unknown>[]) =>
      results.filter(({ status }) => status === "rejected").length;
    const [flood, good] = [ask(300, "hostile"), ask(50, "good")];
    over[Symbol.dispose]();
    deepEqual([refused(await flood), refused(await good)], [100, 0]);
  },
);

Deno.test("evaluate answers cheap questions while the queue is full", async () => {
  using over = evaluator();
  const waiting = numbers(200).map(() => evaluate(over, "[1].all(x, x == 1)"));
  deepEqual(await evaluate(over, "payload_n == 1", { n: 1 }), { ok: true, value: true });
  await Promise.all(waiting);
});

Deno.test("evaluate keeps digits and types on their way through the Worker", async () => {
  using over = evaluator();
  const text =
    '{"n":9007199254740993,"u":18446744073709551615,"f":1.5,"w":1.0,"__proto__":{"x":1}}';
  const source =
    "[payload_n, payload_u, payload_f, payload_w + 1, payload.__proto__.x].filter(x, true)";
  deepEqual(await evaluate(over, source, parseOwnJson(text)), {
    ok: true,
    value: [9007199254740993n, 18446744073709551615n, 1.5, 2n, 1n],
  });
});

Deno.test("evaluate answers alike inline and in the Worker", async () => {
  using over = evaluator();
  const payload = { s: "refs/heads/main", l: ["a"], n: null };
  const sources = [
    'payload_s.matches("^refs/")',
    'payload_s.contains("main") && payload_n == null',
    'payload_missing.contains("x")',
    'payload_n.contains("x")',
    'payload_s.matches("(")',
  ];
  for (const source of sources) {
    const inline = await evaluate(over, source, payload);
    const inWorker = await evaluate(over, `[1].map(loops, ${source})[0]`, payload);
    deepEqual(inWorker, inline);
  }
});

const survivalTest = (name: string, skip: string | undefined, fn: () => Promise<void>) =>
  Deno.test({ ...skippable(name, skip), fn });

/** Patterns on which backtracking engines need exponential time. */
for (
  const pattern of ["(a+)+$", "(a|aa)+$", "(a*)*b", "(.*a){20}$", "^(([a-z])+.)+[A-Z]([a-z])+$"]
) {
  for (const size of [10_000, 1_000_000]) {
    const name = `evaluate survives ${pattern} on ${size} characters`;
    survivalTest(name, size === 10_000 ? undefined : NOT_SLOW, async () => {
      using over = evaluator();
      const payload = { s: "a".repeat(size) + "!" };
      const source = `payload_s.matches('${pattern}')`;
      const { result, stallMs } = await watched(() => evaluate(over, source, payload));
      match(JSON.stringify(result), /"value":false|took longer/);
      ok(stallMs < STALL_MS, `stalled for ${stallMs.toFixed(0)} ms`);
      deepEqual(await evaluate(over, "[1].all(x, x == 1)"), { ok: true, value: true });
    });
  }
}

/** The largest payloads that `parseJson` takes from a sender, with ordinary expressions. */
const HEAVY: readonly { what: string; source: string; text: () => string }[] = [
  {
    what: "one field of a payload with 2 million numbers",
    source: "payload.x == 1",
    text: () => `{"x":1,"a":[${"1,".repeat(1_990_000)}1]}`,
  },
  {
    what: "one field of a payload with 2 million numbers, in a loop",
    source: "[1].exists(i, payload_x == i)",
    text: () => `{"x":1,"a":[${"1,".repeat(1_990_000)}1]}`,
  },
  {
    what: "one field of a payload with 250,000 fields",
    source: "payload.x == 1",
    text: () => `{${numbers(250_000).map((i) => `"key${i}":1,`).join("")}"x":1}`,
  },
  {
    what: "a number of 5 million digits",
    source: "payload_n > 1",
    text: () => `{"n":${"9".repeat(5_000_000)}}`,
  },
  {
    what: "a text of 5 million digits taken for a number",
    source: "int(payload_s) > 1",
    text: () => `{"s":"${"9".repeat(5_000_000)}"}`,
  },
  {
    what: "a pattern from the payload that unfolds to 700,000 states",
    source: "payload_s.matches(payload_p)",
    text: () => `{"s":"${"a".repeat(7000)}","p":"${"(a{0,1000})".repeat(700)}b"}`,
  },
];

for (const { what, source, text } of HEAVY) {
  survivalTest(`evaluate does not hold up timers for ${what}`, NOT_SLOW, async () => {
    using over = evaluator();
    const json = text();
    const payload = parseOwnJson(json);
    const { stallMs } = await watched(() => evaluate(over, source, payload));
    ok(stallMs < STALL_MS, `stalled for ${stallMs.toFixed(0)} ms`);
  });
}

const LEVELS = 500_000;
const DEEP = () => parseOwnJson(`{"x":1,"deep":${"[".repeat(LEVELS)}${"]".repeat(LEVELS)}}`);

for (const source of ["payload.x == 1", "[1].exists(i, payload_x == i)"]) {
  Deno.test(`evaluate ${source} gives a result for a payload nested 500,000 deep`, async () => {
    using over = evaluator();
    const result = await evaluate(over, source, DEEP());
    equal(typeof result.ok, "boolean");
  });
}

Deno.test("evaluate works after 250 payloads that were nested too deeply", async () => {
  using over = evaluator();
  const payload = DEEP();
  for (let i = 0; i < 250; i++) {
    await evaluate(over, "[1].exists(i, payload_x == i)", payload).catch(() => {});
  }
  deepEqual(await evaluate(over, "[1].all(x, x == 1)"), { ok: true, value: true });
});

Deno.test("evaluate settles when the evaluator is disposed meanwhile", async () => {
  const over = evaluator();
  await evaluate(over, "[1].all(x, x == 1)");
  const asked = evaluate(over, SLOW, SLOW_PAYLOAD);
  await new Promise((resolve) => setTimeout(resolve, 50));
  over[Symbol.dispose]();
  equal((await asked).ok, false);
});

Deno.test("createEvaluator leaves no Worker behind when disposed while it starts", async () => {
  const at = (path: string) => new URL(`../../src/cel/${path}`, import.meta.url).href;
  const script = `
    import { createEvaluator } from "${at("evaluator.ts")}";
    import { compileExpression, scopeOf } from "${at("expression.ts")}";
    const over = createEvaluator({ deadlineMs: 300 });
    const asked = over.evaluate(compileExpression("[1].all(x, x == 1)"), scopeOf({}));
    over[Symbol.dispose]();
    await Promise.allSettled([asked]);
    console.log("done");
  `;
  await using file = await scriptFile(script);
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--unstable-worker-options", "-c", file.config, file.path],
    stdout: "piped",
    stderr: "piped",
    signal: AbortSignal.timeout(PATIENCE_MS),
  }).spawn();
  const { success, stdout } = await child.output();
  equal(new TextDecoder().decode(stdout), "done\n");
  equal(success, true, "the process did not end by itself");
});

async function scriptFile(content: string) {
  const path = await Deno.makeTempFile({ suffix: ".ts" });
  await Deno.writeTextFile(path, content);
  const config = new URL("../../deno.json", import.meta.url).pathname;
  return { path, config, [Symbol.asyncDispose]: () => Deno.remove(path) };
}

Deno.test("a field that is not there: did you mean one that is, wherever it runs", async (t) => {
  using over = evaluator();
  const payload = {
    repository: { full_name: "you/app", name: "app" },
    ref: "refs/heads/main",
    "a\u001b]0;b": 1,
    labels: [{ name: "x" }],
  };
  const cases: readonly [source: string, error: string][] = [
    [
      'payload.repository.fullname == "you/app"',
      'field not found: fullname, did you mean "full_name"?',
    ],
    [
      'payload["repository"]["Full_Name"] == ""',
      'field not found: Full_Name, did you mean "full_name"?',
    ],
    ['payload_reff == "x"', 'no such variable: payload_reff, did you mean "payload_ref"?'],
    ["payload.repository.owner.login == ''", "field not found: owner"],
    ["payload.quite_another == 1", "field not found: quite_another"],
    ["payload.ab == 1", "field not found: ab"],
    ["ref == 1", "no such variable: ref"],
    ["payload.labels[0].nam == ''", "field not found: nam"],
    // with a loop, so in a Worker, which has only what the condition reads
    [
      "payload.labels.all(one, one.name == payload.repository.fullname)",
      'field not found: fullname, did you mean "full_name"?',
    ],
  ];
  for (const [source, error] of cases) {
    await t.step(source, async () => equal(errorOf(await evaluate(over, source, payload)), error));
  }
});

Deno.test(
  skippable(
    "of a payload with a million names the search for a like name is short",
    NOT_SLOW,
  ),
  async () => {
    using over = evaluator();
    const payload = Object.fromEntries(numbers(1_000_000).map((n) => [`field_${n}`, n]));
    const before = performance.now();
    for (const _ in payload) break; // V8 lists all of its names first
    const listedMs = performance.now() - before;
    const { stallMs } = await watched(() => evaluate(over, "payload.feild_1 == 1", payload));
    ok(stallMs < 2 * listedMs + STALL_MS, `${stallMs} ms, and ${listedMs} ms to list the names`);
  },
);
