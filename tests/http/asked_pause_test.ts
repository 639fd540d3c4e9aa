import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import { askedPause, pauseUntil } from "../../src/http/asked_pause.ts";
import { callLine } from "../../src/connections/line/line_client.ts";
import { pushText } from "../../src/connections/line/push_text.ts";
import { setClock } from "../helpers/manual_clock.ts";

const NOW = Date.UTC(2026, 0, 1);

/** What `Retry-After` says, and the pause in seconds. */
const ASKED: readonly (readonly [value: string | undefined, secs: number | undefined])[] = [
  ["17", 17],
  [" 17 ", 17],
  ["0", 1],
  ["0.2", 1],
  ["1.5", 2],
  ["3600", 3600],
  ["3601", 3600],
  ["999999", 3600],
  ["9".repeat(400), 3600],
  ["Thu, 01 Jan 2026 00:00:30 GMT", 30],
  ["Thursday, 01-Jan-26 00:00:30 GMT", 30],
  ["Wed, 31 Dec 2025 00:00:00 GMT", 1],
  ["Fri, 31 Dec 9999 23:59:59 GMT", 3600],
  ...["", "-5", "+5", "1e9", "Infinity", "soon", "in 12", "0x10", "1,2"].map((value) =>
    [value, undefined] as const
  ),
  [undefined, undefined],
];

for (const [value, secs] of ASKED) {
  Deno.test(`askedPause of Retry-After: ${value?.slice(0, 40)}`, () => {
    const headers = new Headers(value === undefined ? {} : { "retry-after": value });
    equal(askedPause(headers, NOW), secs);
  });
}

Deno.test("pauseUntil a time of a rate's end", () => {
  const at = (secs: number) => String(NOW / 1000 + secs);
  deepEqual(
    [at(90), at(-90), at(86_400), "9".repeat(400), "soon", "", null].map((it) =>
      pauseUntil(it, NOW)
    ),
    [90, 1, 3600, 3600, undefined, undefined, undefined],
  );
});

Deno.test("LINE is granted an hour, too", async () => {
  const answer = () => new Response("{}", { status: 429, headers: { "retry-after": "999999" } });
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, answer);
  const api = `http://127.0.0.1:${server.addr.port}`;
  const clock = setClock();
  const asked = await callLine({ api, token: () => "t", clock }, { path: "/v2/bot/info" });
  equal("retryAfterSecs" in asked ? asked.retryAfterSecs : undefined, 3600);
  const { signal } = new AbortController();
  const pushed = await pushText({ to: "U", text: "a", retryKey: "k" }, {
    api,
    token: "t",
    clock,
    signal,
  });
  equal("afterSecs" in pushed ? pushed.afterSecs : undefined, 3600);
});

Deno.test("Retry-After is read in one place", async () => {
  const src = new URL("../../src/", import.meta.url).pathname;
  const readers: string[] = [];
  const look = async (path: string) => {
    for await (const { name, isDirectory } of Deno.readDir(path)) {
      const at = join(path, name);
      if (isDirectory) await look(at);
      else if (/get\("retry-after"\)/.test(await Deno.readTextFile(at))) readers.push(name);
    }
  };
  await look(src);
  deepEqual(readers, ["asked_pause.ts"]);
});
