import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { parseCalls } from "./recorded_calls.ts";
import { judge, type Recording } from "./sync_order.ts";

const KEY = "/d/secrets/secretstore.key";
const THERE = ["/d", "/d/secrets", KEY, "/d/svc.db", "/d/svc.db-wal"];

/** `svc init` as it should be, a line each. */
const INIT: readonly string[] = [
  `7 mkdir("/d", 0700) = 0`,
  `7 fsync(3</>) = 0`,
  `7 mkdir("/d/secrets", 0700) = 0`,
  `7 fsync(3</d>) = 0`,
  `7 openat(AT_FDCWD</>, "${KEY}.part", O_WRONLY|O_CREAT|O_EXCL, 0600) = 4<${KEY}.part>`,
  `8 write(4<${KEY}.part>, "svc2 abc\\n", 9) = 9`,
  `8 fsync(4<${KEY}.part>) = 0`,
  `8 linkat(AT_FDCWD</>, "${KEY}.part", AT_FDCWD</>, "${KEY}", 0) = 0`,
  `8 fsync(5</d/secrets>) = 0`,
  `8 unlink("${KEY}.part") = 0`,
  `7 openat(AT_FDCWD</>, "/d/svc.db.part", O_RDWR|O_CREAT, 0644) = 6</d/svc.db.part>`,
  `7 pwrite64(6</d/svc.db.part>, "SQLite format 3", 15, 0) = 15`,
  `7 fsync(6</d/svc.db.part>) = 0`,
  `8 rename("/d/svc.db.part", "/d/svc.db") = 0`,
  `8 fsync(5</d>) = 0`,
  `7 write(1<pipe:[1]>, "created /d/svc.db\\n", 18) = 18`,
];

/** A delivery that is received, stored and answered, a line each. */
const SOCKET = `9<TCP:[127.0.0.1:80->127.0.0.1:5]>`;
const DELIVERY: readonly string[] = [
  `7 recvfrom(${SOCKET}, "POST /webhook/a HTTP/1.1\\r\\n\\r\\n{\\"m\\":\\"marker-1\\"}", 512, 0) = 40`,
  `8 pwrite64(6</d/svc.db-wal>, "\\0\\1{\\"m\\":\\"marker-1\\"}", 24, 8192) = 24`,
  `8 fsync(6</d/svc.db-wal>) = 0`,
  `7 sendto(${SOCKET}, "HTTP/1.1 200 OK\\r\\n", 17, MSG_NOSIGNAL) = 17`,
];

function faultsOf(lines: readonly string[], more: Partial<Recording> = {}): readonly string[] {
  const calls = parseCalls(lines.join("\n"));
  return judge({ calls, root: "/d", existing: [], marker: /marker-\d+/, ...more });
}

const without = (lines: readonly string[], line: number) =>
  lines.filter((_, at) => at !== line - 1);

Deno.test("an init that syncs everything in time, and a delivery, are found right", () => {
  deepEqual(faultsOf(INIT), []);
  deepEqual(faultsOf(DELIVERY, { existing: THERE }), []);
});

const INIT_FAULTS: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  ["the key is not synced", without(INIT, 7), [
    `line 7: ${KEY} gets its name before its content is synced`,
  ]],
  ["the directory of the key is not synced", without(INIT, 9), [
    "line 11: the database is written before the directory of the key is synced",
    `line 15: success is announced before the directory of ${KEY} is synced`,
  ]],
  ["the directory of the data directory is not synced", without(INIT, 2), [
    "line 15: success is announced before the directory of /d is synced",
  ]],
  ["the data directory is not synced", INIT.filter((line) => !line.includes("</d>)")), [
    "line 14: success is announced before the directory of /d/secrets is synced",
    "line 14: success is announced before the directory of /d/svc.db is synced",
  ]],
  ["the database has no key", [...INIT.slice(0, 4), ...INIT.slice(10)], [
    "line 6: the database is written before there is a key",
  ]],
  ["the database is not synced", without(INIT, 13), [
    "line 13: /d/svc.db gets its name before its content is synced",
  ]],
  ["a file is written in place and never synced", [
    ...INIT.slice(0, -1),
    `7 openat(AT_FDCWD</>, "/d/daemon.yaml", O_WRONLY|O_CREAT|O_EXCL, 0600) = 4</d/daemon.yaml>`,
    `7 write(4</d/daemon.yaml>, "#", 1) = 1`,
    ...INIT.slice(-1),
  ], [
    "line 18: success is announced before /d/daemon.yaml is synced",
    "line 18: success is announced before the directory of /d/daemon.yaml is synced",
  ]],
];

for (const [name, lines, faults] of INIT_FAULTS) {
  Deno.test(`an init is found out: ${name}`, () => deepEqual(faultsOf(lines), faults));
}

const [RECEIVED = "", WRITTEN = "", SYNCED = "", ANSWERED = ""] = DELIVERY;
const EARLY = "marker-1 is answered before it is synced";
const DAEMON_FAULTS: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  ["nothing is synced", [RECEIVED, WRITTEN, ANSWERED], [`line 3: ${EARLY}`]],
  ["it is synced afterwards", [RECEIVED, WRITTEN, ANSWERED, SYNCED], [`line 3: ${EARLY}`]],
  ["it is written while the sync runs", [
    RECEIVED,
    "8 fsync(6</d/svc.db-wal> <unfinished ...>",
    WRITTEN.replace(/^8/, "9"),
    "8 <... fsync resumed>) = 0",
    ANSWERED,
  ], [`line 5: ${EARLY}`]],
  ["the sync is not over yet", [
    RECEIVED,
    WRITTEN,
    "8 fsync(6</d/svc.db-wal> <unfinished ...>",
    ANSWERED,
    "8 <... fsync resumed>) = 0",
  ], [`line 4: ${EARLY}`]],
  ["the sync fails", [RECEIVED, WRITTEN, SYNCED.replace("= 0", "= -1 EIO (x)"), ANSWERED], [
    `line 4: ${EARLY}`,
  ]],
  ["another one is synced", [
    RECEIVED,
    WRITTEN.replace("marker-1", "marker-2"),
    SYNCED,
    ANSWERED,
  ], [`line 4: ${EARLY}`]],
  ["the log is begun anew over an unsynced database", [
    '8 pwrite64(5</d/svc.db>, "page", 4, 0) = 4',
    '8 pwrite64(6</d/svc.db-wal>, "head", 4, 0) = 4',
  ], ["line 2: the log is begun anew before what it held is synced in the database"]],
  ["the database is written from an unsynced log", [
    WRITTEN,
    '8 pwrite64(5</d/svc.db>, "page", 4, 0) = 4',
  ], ["line 2: /d/svc.db is written before /d/svc.db-wal is synced"]],
  ["the key is replaced before the log is synced", [
    WRITTEN,
    `8 rename("${KEY}.part", "${KEY}") = 0`,
  ], ["line 2: the key is replaced before what was sealed anew is synced"]],
];

for (const [name, lines, faults] of DAEMON_FAULTS) {
  Deno.test(`a daemon is found out: ${name}`, () => {
    deepEqual(faultsOf(lines, { existing: THERE }), faults);
  });
}

Deno.test("an answer of the control plane waits for a sync as well", () => {
  const socket = '9<UNIX-STREAM:[1->2,"/d/control-plane/svc.sock"]>';
  const calls = [
    `7 recvfrom(${socket}, "POST http://svc/v1/apply HTTP/1.1\\r\\n", 512, 0) = 40`,
    WRITTEN,
    `7 sendto(${socket}, "HTTP/1.1 200 OK\\r\\n", 17, MSG_NOSIGNAL) = 17`,
  ];
  const storing = /v1\/apply/;
  deepEqual(faultsOf(calls, { existing: THERE, storing }), [
    'line 3: "POST http://svc/v1/apply HTTP/1.1" is answered before anything of it is synced',
  ]);
  deepEqual(
    faultsOf([...calls.slice(0, 2), SYNCED, ...calls.slice(2)], { existing: THERE, storing }),
    [],
  );
});
