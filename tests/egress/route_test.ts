/**
 * Where a request goes: every way to name a host, and every way to ask for a path that is not allowed.
 *
 * @module
 */

import { strictEqual as equal } from "node:assert/strict";
import { latin1Bytes } from "../../src/base/bytes.ts";
import { HeadFault, parseRequestHead, requestFraming } from "../../src/egress/head.ts";
import { type Route, route, written } from "../../src/egress/route.ts";
import { type NetworkRules, parseNetwork } from "../../src/resources/network.ts";

const RULES = parseNetwork({
  allow: ["github.com", "*.example.org", "ssh.example:22", "127.0.0.1:8080", "[2001:db8::1]"],
  inject: [
    { url: "https://api.anthropic.com", env: "A", paths: ["/v1/messages", "/v1/models/*"] },
    { url: "https://open.example/api/v1", env: "B" },
    { url: "https://all.example", env: "C" },
  ],
}) as NetworkRules;

function routeOf(text: string, within?: number): Route {
  const head = parseRequestHead(latin1Bytes(`${text}\r\n\r\n`));
  requestFraming(head);
  return route(head, RULES, within);
}

/** A route as one text. */
function says(text: string, within?: number): string {
  try {
    const found = routeOf(text, within);
    switch (found.to) {
      case "tunnel":
        return `tunnel ${written(found.destination)}`;
      case "injection tunnel":
        return `tunnel to injection ${found.index}`;
      case "server":
        return `server ${written(found.destination)} ${found.target}`;
      case "injection":
        return `injection ${found.index} ${found.target}`;
      case "nowhere":
        return String(found.status);
    }
  } catch (error) {
    if (error instanceof HeadFault) return "400";
    throw error;
  }
}

const CONNECT: Readonly<Record<string, string>> = {
  "github.com:443": "tunnel github.com:443",
  "github.com:80": "tunnel github.com:80",
  "GitHub.COM:443": "tunnel github.com:443",
  "github.com.:443": "tunnel github.com:443",
  "github.com:22": "403",
  "a.github.com:443": "403",
  "notgithub.com:443": "403",
  "github.com.evil.example:443": "403",
  "evil.example:443": "403",
  "a.example.org:443": "tunnel a.example.org:443",
  "a.b.example.org:443": "tunnel a.b.example.org:443",
  "example.org:443": "403",
  "aexample.org:443": "403",
  "ssh.example:22": "tunnel ssh.example:22",
  "ssh.example:443": "403",
  "127.0.0.1:8080": "tunnel 127.0.0.1:8080",
  "127.0.0.1:8081": "403",
  "127.0.0.1:443": "403",
  "[2001:DB8:0::1]:443": "tunnel [2001:db8:0:0:0:0:0:1]:443",
  "[2001:db8::2]:443": "403",
  "[::1]:8080": "403",
  "[::ffff:127.0.0.1]:8080": "403",
  "169.254.169.254:80": "403",
  "10.0.0.1:443": "403",
  "93.184.216.34:443": "403",
  "0.0.0.0:8080": "403",
  "localhost:8080": "403",
  // Numbers that some programs take for 127.0.0.1.
  "2130706433:8080": "400",
  "0x7f000001:8080": "400",
  "0x7f.0.0.1:8080": "400",
  "0177.0.0.1:8080": "400",
  "127.1:8080": "400",
  "127.0.0.1.:8080": "tunnel 127.0.0.1:8080",
  // What is no HOST:PORT.
  "github.com": "400",
  "github.com:": "400",
  "github.com:0": "400",
  "github.com:00443": "400",
  "github.com:65979": "400", // 443 + 65536
  "github.com:443/": "400",
  "github.com@evil.example:443": "400",
  "evil.example:443@github.com:443": "400",
  "https://github.com:443": "400",
  "github.com:443#": "400",
  "github.com%2eevil.example:443": "400",
  "github.com%00.evil.example:443": "400",
  "github..com:443": "400",
  ".github.com:443": "400",
  "*.example.org:443": "400",
  "[github.com]:443": "400",
  "[::1%25lo]:8080": "400",
  "g\u00efthub.com:443": "400",
  // The injections.
  "127.0.0.2:3128": "tunnel to injection 0",
  "127.0.0.4:3128": "tunnel to injection 2",
  "127.0.0.5:3128": "403",
  "127.0.0.1:3128": "403",
  "127.0.0.2:443": "403",
  "127.0.0.258:3128": "400",
  "api.anthropic.com:443": "403",
};

for (const [target, wanted] of Object.entries(CONNECT)) {
  Deno.test(`CONNECT ${target}: ${wanted}`, () => {
    equal(says(`CONNECT ${target} HTTP/1.1\r\nHost: github.com:443`), wanted);
  });
}

const REQUESTS: Readonly<Record<string, string>> = {
  "GET http://github.com/ HTTP/1.1\r\nHost: github.com": "server github.com:80 /",
  "GET http://github.com HTTP/1.1\r\nHost: github.com": "server github.com:80 /",
  "GET http://github.com?x=1 HTTP/1.1\r\nHost: github.com": "server github.com:80 /?x=1",
  "GET HTTP://GitHub.com:443/a?b//c HTTP/1.1\r\nHost: a": "server github.com:443 /a?b//c",
  "GET http://github.com/%2e%2e/x HTTP/1.1\r\nHost: a": "server github.com:80 /%2e%2e/x",
  "GET http://github.com/ HTTP/1.0": "server github.com:80 /",
  "GET http://evil.example/ HTTP/1.1\r\nHost: github.com": "403",
  "GET http://github.com@evil.example/ HTTP/1.1\r\nHost: github.com": "400",
  "GET http://github.com\\@evil.example/ HTTP/1.1\r\nHost: github.com": "400",
  "GET http://github.com:80:80/ HTTP/1.1\r\nHost: github.com": "400",
  "GET http://github.com#@evil.example/ HTTP/1.1\r\nHost: github.com": "400",
  "GET http:///github.com/ HTTP/1.1\r\nHost: github.com": "400",
  "GET http:github.com/ HTTP/1.1\r\nHost: github.com": "400",
  "GET https://github.com/ HTTP/1.1\r\nHost: github.com": "400",
  "GET ftp://github.com/ HTTP/1.1\r\nHost: github.com": "400",
  "GET http://169.254.169.254/latest/ HTTP/1.1\r\nHost: github.com": "403",
  "TRACE http://github.com/ HTTP/1.1\r\nHost: github.com": "400",
  "GET http://github.com/ HTTP/1.1": "400",
  "GET http://github.com/ HTTP/1.1\r\nHost: github.com\r\nhost: github.com": "400",
  "GET / HTTP/1.1\r\nHost: github.com": "421",
  "GET / HTTP/1.1\r\nHost: 127.0.0.1:3128": "421",
  "GET / HTTP/1.1\r\nHost: 127.0.0.2": "421",
  "GET / HTTP/1.1\r\nHost: localhost:3128": "421",
  "GET / HTTP/1.1\r\nHost: 127.0.0.5:3128": "421",
  "GET / HTTP/1.1\r\nHost: ": "400",
  "GET / HTTP/1.1\r\nHost: 127.0.0.4:3128, evil": "400",
  "GET / HTTP/1.0": "400",
  "OPTIONS * HTTP/1.1\r\nHost: 127.0.0.4:3128": "400",
  "GET /x HTTP/1.1\r\nHost: 127.0.0.4:3128": "injection 2 /x",
  "GET http://127.0.0.4:3128/x HTTP/1.1\r\nHost: github.com": "injection 2 /x",
  "TRACE /x HTTP/1.1\r\nHost: 127.0.0.4:3128": "400",
  "TRACK /x HTTP/1.1\r\nHost: 127.0.0.4:3128": "400",
  "get /x HTTP/1.1\r\nHost: 127.0.0.4:3128": "400",
  "PROPFIND /x HTTP/1.1\r\nHost: 127.0.0.4:3128": "400",
};

for (const [request, wanted] of Object.entries(REQUESTS)) {
  Deno.test(`${JSON.stringify(request)}: ${wanted}`, () => equal(says(request), wanted));
}

/** Targets at three injections: with paths, with a base, with neither. */
const PATHS: readonly (readonly [index: number, target: string, wanted: string])[] = [
  [0, "/v1/messages", "through"],
  [0, "/v1/messages?beta=true&x=/../", "through"],
  [0, "/v1/messages/", "403"],
  [0, "/v1/messages/count_tokens", "403"],
  [0, "/v1/Messages", "403"],
  [0, "/v1/files", "403"],
  [0, "/v1", "403"],
  [0, "/", "403"],
  [0, "/?/v1/messages", "403"],
  [0, "/v1/%6dessages", "403"],
  [0, "/v1/models/m", "through"],
  [0, "/v1/models/m:generate", "through"],
  [0, "/v1/models/a%20b/c", "through"],
  [0, "/v1/models/", "403"],
  [0, "/v1/models", "403"],
  [0, "/v1/modelsx/y", "403"],
  [0, "/v1/models/../files", "400"],
  [0, "/v1/models/./../files", "400"],
  [0, "/v1/models/..", "400"],
  [0, "/v1/models/.../x", "400"],
  [0, "/v1/models/%2e%2e/files", "400"],
  [0, "/v1/models/%2E./files", "400"],
  [0, "/v1/models/..%2ffiles", "400"],
  [0, "/v1/models/..%2Ffiles", "400"],
  [0, "/v1/models/%252e%252e/files", "400"],
  [0, "/v1/models/..;/files", "400"],
  [0, "/v1/models/;/../files", "400"],
  [0, "/v1/models/x;y", "400"],
  [0, "/v1/models/x%3by", "400"],
  [0, "/v1/models//x", "400"],
  [0, "//v1/messages", "400"],
  [0, "/v1//messages", "400"],
  [0, "/v1\\messages", "400"],
  [0, "/v1/models/..\\files", "400"],
  [0, "/v1/models/..%5cfiles", "400"],
  [0, "/v1/models/x%00", "400"],
  [0, "/v1/models/x%0d%0a", "400"],
  [0, "/v1/models/x%7f", "400"],
  [0, "/v1/models/x%", "400"],
  [0, "/v1/models/x%zz", "400"],
  [0, "/v1/models/x#y", "400"],
  [0, "/v1/messages#y", "400"],
  [1, "/api/v1", "through"],
  [1, "/api/v1/chat/completions", "through"],
  [1, "/api/v1x", "403"],
  [1, "/api", "403"],
  [1, "/", "403"],
  [1, "/api/v1/../../admin", "400"],
  [1, "/api/v1/%2e%2e/x", "400"],
  [2, "/anything/../else;x//%2f", "through"],
];

for (const [index, target, wanted] of PATHS) {
  Deno.test(`injection ${index}: ${target}: ${wanted}`, () => {
    const host = `127.0.0.${index + 2}:3128`;
    const through = `injection ${index} ${target}`;
    const expected = wanted === "through" ? through : wanted;
    equal(says(`POST ${target} HTTP/1.1\r\nHost: ${host}`), expected);
    equal(says(`POST http://${host}${target} HTTP/1.1\r\nHost: ${host}`), expected);
    equal(says(`POST ${target} HTTP/1.1\r\nHost: ${host}`, index), expected);
  });
}

Deno.test("what comes through the tunnel of an injection goes to it or nowhere", () => {
  equal(says("GET /x HTTP/1.1\r\nHost: 127.0.0.4:3128", 2), "injection 2 /x");
  equal(says("GET /x HTTP/1.1\r\nHost: 127.0.0.4:3128", 1), "421");
  equal(says("GET http://github.com/ HTTP/1.1\r\nHost: github.com", 2), "421");
  equal(says("CONNECT github.com:443 HTTP/1.1\r\nHost: github.com", 2), "400");
  equal(says("CONNECT 127.0.0.4:3128 HTTP/1.1\r\nHost: github.com", 2), "400");
});

Deno.test("CONNECT has no body", () => {
  const connect = "CONNECT github.com:443 HTTP/1.1\r\nHost: github.com:443\r\n";
  equal(says(`${connect}Content-Length: 0`), "tunnel github.com:443");
  equal(says(`${connect}Content-Length: 5`), "400");
  equal(says(`${connect}Transfer-Encoding: chunked`), "400");
});
