/**
 * What a step has reached, in words.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { reachedLines } from "../../src/egress/reached_lines.ts";
import type { Reached } from "../../src/egress/traffic.ts";

const reached = (more: Partial<Reached>): Reached =>
  Object.assign({
    host: "github.com:443",
    way: "tunnel" as const,
    requests: 1,
    refused: 0,
    failed: 0,
    sentBytes: 1,
    receivedBytes: 3 * 1024 * 1024,
    statuses: {},
    firstAt: 0,
    lastAt: 0,
  }, more);

Deno.test("a host that was reached has a line, and one that was only refused has none", () => {
  deepEqual(
    reachedLines([
      reached({}),
      reached({ host: "evil.example:443", requests: 0, refused: 7 }),
      reached({
        host: "a.example:80",
        way: "http",
        requests: 2,
        statuses: { 200: 1, 502: 2 },
        failed: 1,
      }),
      reached({ host: "others", requests: 5 }),
    ]),
    [
      "network: github.com:443: 1 connection, 1 bytes sent, 3.0 MiB received",
      "network: a.example:80: 2 requests, 1 bytes sent, 3.0 MiB received; 2 answers were 502; 1 failed",
      "network: other hosts: 5 connections, 1 bytes sent, 3.0 MiB received",
    ],
  );
  deepEqual(reachedLines([]), []);
});

Deno.test("there are 20 lines at most, and one that counts the rest", () => {
  const hosts = Array.from({ length: 23 }, (_, i) => reached({ host: `h${i}:443` }));
  const lines = reachedLines(hosts);
  equal(lines.length, 21);
  equal(lines.at(-1), "network: 3 more hosts");
  equal(reachedLines(hosts.slice(0, 21)).at(-1), "network: 1 more host");
});
