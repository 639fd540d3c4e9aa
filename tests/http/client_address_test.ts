/**
 * Whose request it is behind proxies: what is believed of headers, and what is not.
 *
 * @module
 */

import { strictEqual as equal } from "node:assert/strict";
import { cidrMatcher } from "../../src/base/cidr.ts";
import { clientAddress, plainAddress } from "../../src/http/server/client_address.ts";
import { cpuMs } from "../helpers/cpu_time.ts";

const TRUSTED = ["127.0.0.1", "10.0.0.0/8", "::1", "2001:db8:1::/48"];
const PROXY = "10.0.0.1";

/** What the headers say, and whose request it then is. */
const CASES: readonly {
  what: string;
  peer?: string;
  forwardedFor?: string;
  forwarded?: string;
  is: string;
}[] = [
  { what: "no header: the proxy itself", is: PROXY },
  { what: "one hop", forwardedFor: "192.0.2.7", is: "192.0.2.7" },
  { what: "blanks round it", forwardedFor: "  192.0.2.7 ", is: "192.0.2.7" },
  { what: "two proxies", forwardedFor: "192.0.2.7, 10.0.0.2", is: "192.0.2.7" },
  {
    what: "what the sender made up before it",
    forwardedFor: "8.8.8.8, 192.0.2.7",
    is: "192.0.2.7",
  },
  { what: "a made-up proxy", forwardedFor: "8.8.8.8, 10.0.0.9, 192.0.2.7", is: "192.0.2.7" },
  { what: "garbage before it", forwardedFor: "<script>, 192.0.2.7", is: "192.0.2.7" },
  { what: "proxies only", forwardedFor: "10.0.0.3, 10.0.0.2", is: "10.0.0.3" },
  { what: "a port", forwardedFor: "192.0.2.7:4711", is: "192.0.2.7" },
  { what: "IPv6", forwardedFor: "2001:DB8:2::7", is: "2001:db8:2::7" },
  { what: "IPv6 with a port", forwardedFor: "[2001:db8:2::7]:4711", is: "2001:db8:2::7" },
  { what: "a proxy by IPv6", forwardedFor: "192.0.2.7, 2001:db8:1::2", is: "192.0.2.7" },
  { what: "IPv4 as IPv6", forwardedFor: "::ffff:192.0.2.7", is: "192.0.2.7" },
  { what: "a proxy's IPv4 as IPv6", forwardedFor: "192.0.2.7, ::ffff:10.0.0.2", is: "192.0.2.7" },
  { what: "IPv4 as IPv6 in hex", forwardedFor: "::ffff:c000:207", is: "192.0.2.7" },
  { what: "an empty value", forwardedFor: "", is: "unknown" },
  { what: "commas only", forwardedFor: ",,", is: "unknown" },
  { what: "an empty last hop", forwardedFor: "192.0.2.7,", is: "unknown" },
  { what: "the word unknown", forwardedFor: "unknown", is: "unknown" },
  { what: "a name", forwardedFor: "localhost", is: "unknown" },
  { what: "an address that is none", forwardedFor: "192.0.2.777", is: "unknown" },
  { what: "an address in octal", forwardedFor: "0300.0.2.7", is: "unknown" },
  { what: "a range", forwardedFor: "10.0.0.0/8", is: "unknown" },
  { what: "a zone", forwardedFor: "fe80::1%eth0", is: "unknown" },
  { what: "a NUL", forwardedFor: "192.0.2.7%00", is: "unknown" },
  { what: "Forwarded", forwarded: "for=192.0.2.7;proto=https", is: "192.0.2.7" },
  { what: "Forwarded, for behind", forwarded: 'proto=https; For="192.0.2.7:1"', is: "192.0.2.7" },
  {
    what: "Forwarded, IPv6 and a proxy",
    is: "2001:db8:2::7",
    forwarded: 'for="[2001:db8:2::7]:4711", for=10.0.0.2;by="a,b"',
  },
  {
    what: "Forwarded, made up before it",
    is: "192.0.2.7",
    forwarded: "for=8.8.8.8, for=192.0.2.7",
  },
  { what: "Forwarded, empty", forwarded: "", is: "unknown" },
  { what: "Forwarded, a quote only", forwarded: '"', is: "unknown" },
  { what: "Forwarded, hidden", forwarded: "for=_hidden", is: "unknown" },
  { what: "Forwarded, no for", forwarded: "proto=https", is: "unknown" },
  { what: "Forwarded, for in a value", forwarded: 'by="x;for=8.8.8.8"', is: "unknown" },
  { what: "Forwarded, a quote that is never closed", forwarded: 'for="192.0.2.7', is: "unknown" },
  {
    what: "both that agree",
    is: "192.0.2.7",
    forwardedFor: "8.8.8.8, 192.0.2.7",
    forwarded: "for=192.0.2.7",
  },
  {
    what: "one that the proxy lets through",
    is: "unknown",
    forwardedFor: "192.0.2.7",
    forwarded: "for=8.8.8.8",
  },
  {
    what: "a stranger's header",
    peer: "192.0.2.1",
    is: "192.0.2.1",
    forwardedFor: "127.0.0.1",
    forwarded: "for=127.0.0.1",
  },
  {
    what: "a stranger's header by IPv6",
    peer: "2001:db8:2::1",
    is: "2001:db8:2::1",
    forwardedFor: "127.0.0.1",
  },
  {
    what: "a proxy on a dual-stack socket",
    peer: "::ffff:10.0.0.1",
    is: "192.0.2.7",
    forwardedFor: "192.0.2.7",
  },
  {
    what: "a stranger on a dual-stack socket",
    peer: "::ffff:192.0.2.1",
    is: "192.0.2.1",
    forwardedFor: "127.0.0.1",
  },
  { what: "no peer", peer: "", forwardedFor: "192.0.2.7", is: "" },
];

Deno.test("clientAddress() believes headers as far as trusted proxies have written them", async (t) => {
  const isTrusted = cidrMatcher(TRUSTED);
  for (const { what, peer = PROXY, forwardedFor, forwarded, is } of CASES) {
    await t.step(what, () => {
      const headers = new Headers();
      if (forwardedFor !== undefined) headers.set("x-forwarded-for", forwardedFor);
      if (forwarded !== undefined) headers.set("forwarded", forwarded);
      equal(clientAddress(peer, headers, isTrusted), is);
    });
  }
});

Deno.test("clientAddress() ignores all headers when no proxy is trusted", () => {
  const headers = new Headers({ "x-forwarded-for": "192.0.2.7" });
  equal(clientAddress("127.0.0.1", headers, cidrMatcher([])), "127.0.0.1");
});

Deno.test("clientAddress() takes a long header in its stride", () => {
  const hops = Array.from({ length: 10_000 }, () => "10.1.1.1").join(",");
  for (const name of ["x-forwarded-for", "forwarded"]) {
    const started = cpuMs();
    clientAddress(PROXY, new Headers({ [name]: hops }), cidrMatcher(TRUSTED));
    clientAddress(PROXY, new Headers({ [name]: '"'.repeat(60_000) }), cidrMatcher(TRUSTED));
    equal(cpuMs() - started < 1000, true, name);
  }
});

Deno.test("plainAddress() takes addresses only", () => {
  for (const text of ["", "a", "1", "1.2.3", "1.2.3.4:x", "[1.2.3.4]", "[::1", "::1]", "::1%lo"]) {
    equal(plainAddress(text), undefined, text);
  }
  equal(plainAddress("1.2.3.4:80"), "1.2.3.4");
  equal(plainAddress("[::1]:80"), "::1");
});
