/**
 * Addresses: which texts are some, and which are hosts of the public internet.
 *
 * @module
 */

import { strictEqual as equal } from "node:assert/strict";
import { isIP } from "node:net";
import { canonicalIp, isLocalIp, isPublicIp } from "../../src/base/ip_address.ts";

const PUBLIC = [
  "1.1.1.1",
  "9.255.255.255",
  "11.0.0.0",
  "100.63.255.255",
  "100.128.0.0",
  "172.15.255.255",
  "172.32.0.0",
  "223.255.255.255",
  "2606:4700::1111",
  "2001:200::1",
  "64:ff9b::101:101",
  "::ffff:1.1.1.1",
  "2002:101:101::1",
];

const SPECIAL = [
  "0.0.0.0",
  "0.1.2.3",
  "10.0.0.1",
  "100.64.0.1",
  "100.100.100.200",
  "127.0.0.1",
  "127.255.255.255",
  "168.63.129.16",
  "169.254.169.254",
  "172.16.0.1",
  "172.31.255.255",
  "192.0.0.1",
  "192.0.2.1",
  "192.168.0.1",
  "198.18.0.1",
  "198.19.255.255",
  "203.0.113.9",
  "224.0.0.1",
  "240.0.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "::127.0.0.1",
  "::ffff:127.0.0.1",
  "::ffff:7f00:1",
  "::ffff:10.0.0.1",
  "0:0:0:0:0:ffff:a9fe:a9fe",
  "64:ff9b::127.0.0.1",
  "64:ff9b::a00:1",
  "64:ff9b:1::1",
  "2002:7f00:1::",
  "2002:a9fe:a9fe::1",
  "2001::1",
  "2001:db8::1",
  "3fff::1",
  "4000::1",
  "100::1",
  "fc00::1",
  "fd12:3456::1",
  "fe80::1",
  "fec0::1",
  "ff02::1",
];

const NONE = [
  "",
  "1",
  "127.1",
  "1.2.3",
  "1.2.3.4.5",
  "01.2.3.4",
  "1.2.3.256",
  "0x7f.0.0.1",
  "1.2.3.4 ",
  "1.2.3.-4",
  ":",
  ":::",
  "1::2::3",
  "1:2:3:4:5:6:7",
  "1:2:3:4:5:6:7:8:9",
  "1:2:3:4:5:6:7::8:9",
  "::12345",
  "::g",
  "::1%lo",
  "[::1]",
  "::1.2.3",
  "1.2.3.4::",
  "1:2:3:4:5:6:7:1.2.3.4",
  ":1",
  "1:",
];

for (const text of PUBLIC) {
  Deno.test(`${text} is public`, () => {
    equal(isPublicIp(text), true);
    equal(isLocalIp(text), false);
  });
}
for (const text of SPECIAL) {
  Deno.test(`${text} is not public`, () => equal(isPublicIp(text), false));
}
for (const text of NONE) {
  Deno.test(`"${text}" is no address`, () => {
    equal(canonicalIp(text), undefined);
    equal(isPublicIp(text), false);
  });
}

Deno.test("an address has one form", () => {
  for (const text of ["2001:DB8::1", "2001:db8:0:0::1", "2001:0db8::0.0.0.1"]) {
    equal(canonicalIp(text), "2001:db8:0:0:0:0:0:1");
  }
  equal(canonicalIp("1:2:3:4:5:6::8"), "1:2:3:4:5:6:0:8");
  equal(canonicalIp("::"), "0:0:0:0:0:0:0:0");
});

Deno.test("what is an address here is one elsewhere too", () => {
  for (const text of [...PUBLIC, ...SPECIAL]) equal(isIP(text) > 0, true, text);
});
