/**
 * What `svc doctor` says of facts that a test cannot bring about: another time, another system, a
 * service that fails.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { systemClock } from "../../src/base/clock.ts";
import { dataDirAt } from "../../src/base/data_dir.ts";
import { findShownEnd } from "../../src/doctor/address.ts";
import { openOwnPlace } from "../../src/doctor/own_place.ts";
import { certificateFinding, certificates } from "../../src/doctor/certificates.ts";
import { clockFinding } from "../../src/doctor/clock.ts";
import { daemon } from "../../src/doctor/daemon.ts";
import { serviceUnit } from "../../src/doctor/service_unit.ts";
import { systemFindings } from "../../src/doctor/system.ts";
import type { Status } from "../../src/api/status_operations.ts";
import { firstEnd } from "../../src/signatures/certificate.ts";
import { findService } from "../../src/service/service_lookup.ts";
import { makePair, NO_OPENSSL } from "../helpers/certificate.ts";
import { skippable } from "../helpers/requirements.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { NO_UNIT, showOf, startMachine } from "../rigs/service_machine.ts";

const NOW = Date.UTC(2026, 10, 24);
const DAY_MS = 86_400_000;

Deno.test("the clock: of 1970, behind the newest record, and right", () => {
  const lost = clockFinding(5000);
  equal(lost.result, "failed");
  match(
    lost.message,
    /^It is 1970-01-01T00:00:05.000Z on this machine, .*too early: set it, best by/,
  );
  equal(clockFinding(5000, NOW).message, lost.message, "it is not the record that is wrong");
  const behind = clockFinding(NOW, NOW + 3_600_000);
  match(behind.message, /newest record is of 2026-11-24T01:00:00.000Z: the clock is behind/);
  deepEqual(
    [clockFinding(NOW), clockFinding(NOW, NOW - DAY_MS), clockFinding(NOW, NOW + 59_000)]
      .map(({ result }) => result),
    ["ok", "ok", "ok"],
  );
});

Deno.test("the system: without /proc, and with the daemon as its first process", () => {
  const of = (hasProc: boolean, isFirst: boolean) =>
    systemFindings({ name: "linux x86_64, glibc 2.36", hasProc, isFirst });
  deepEqual(of(true, false), [{ result: "ok", message: "linux x86_64, glibc 2.36, /proc" }]);
  const [bare, ...others] = of(false, false);
  deepEqual([bare?.result, others], ["warning", []]);
  match(bare?.message ?? "", /\/proc cannot be read.*mount it$/);
  deepEqual(of(true, true).map(({ result }) => result), ["ok", "warning"]);
  match(of(true, true)[1]?.message ?? "", /is process 1.*start the container with "--init"$/);
});

Deno.test("a certificate: over, over soon, valid, and none", () => {
  const of = (end: number) => certificateFinding({ where: "/tls.crt", end, cure: "renew it" }, NOW);
  equal(of(NOW).result, "failed");
  match(
    of(NOW - DAY_MS).message,
    /^\/tls\.crt expired on 2026-11-23T00:00:00.000Z, and senders/,
  );
  match(of(NOW + 13 * DAY_MS).message, /expires on 2026-12-07T00:00:00.000Z: renew it/);
  deepEqual(
    [of(NOW + 13 * DAY_MS), of(NOW + 14 * DAY_MS)].map(({ result }) => result),
    ["warning", "ok"],
  );
});

Deno.test({
  ...skippable("the first end of a file of certificates counts", NO_OPENSSL),
  async fn() {
    await using dir = await tempDir();
    const pem = await makePair(dir.path, "one");
    const end = firstEnd(pem) ?? 0;
    equal(firstEnd(`${pem}\n${pem}`), end);
    equal(
      firstEnd(`${pem}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`),
      undefined,
    );
    equal(firstEnd(""), undefined);
    const path = await dir.write("chain.crt", pem);
    const files = [
      { setting: "webhook-tls-cert", path },
      { setting: "control-tls-cert", path: `${dir.path}/none` },
      { setting: "control-tls-cert", path: await dir.write("empty.crt", "") },
    ];
    const found = await certificates.look({ files, now: end - DAY_MS });
    deepEqual(found.map(({ result }) => result), ["warning", "warning", "failed"]);
    match(found[0]?.message ?? "", /chain\.crt \(webhook-tls-cert\) expires on/);
    match(found[2]?.message ?? "", /empty\.crt \(control-tls-cert\) holds no readable certificate/);
    match(found[1]?.message ?? "", /none \(control-tls-cert\) cannot be read \(/);
  },
});

Deno.test({
  ...skippable("the end of the certificate that an address shows", NO_OPENSSL),
  async fn() {
    await using dir = await tempDir();
    const cert = await makePair(dir.path, "one");
    const key = await Deno.readTextFile(`${dir.path}/one.key`);
    const listen = { port: 0, hostname: "127.0.0.1", onListen() {} };
    const server = Deno.serve({ ...listen, cert, key }, () => new Response());
    await using tools = openOwnPlace({
      dirs: dataDirAt(dir.path),
      env: (name) => Deno.env.get(name),
      clock: systemClock,
      stepEnv: [],
    });
    equal(await findShownEnd(`127.0.0.1:${server.addr.port}`, tools), firstEnd(cert));
    await server.shutdown();
    equal(await findShownEnd(`127.0.0.1:${server.addr.port}`, tools), undefined);
  },
});

Deno.test("the service: not there, for other data, failing, stopped, and as it is to be", async () => {
  await using machine = await startMachine();
  const file = "/etc/systemd/system/svcd.service";
  await machine.write(file, "# Made by svc.\n");
  const of = async (show: string, dataDir = "/var/lib/svc") => {
    await machine.answer("systemctl", show);
    const service = await findService(machine.host);
    const found = await serviceUnit.look({ service, dataDir });
    return found.map(({ result, message }) => `${result}: ${message}`).join("\n");
  };
  deepEqual(await serviceUnit.look({ service: undefined, dataDir: "/x" }), []);
  await Deno.remove(machine.at(file));
  match(await of(NO_UNIT), /^ok: None is installed: "svc service install" installs one/);
  await machine.write(file, "# Made by svc.\n");
  equal(await of(showOf(file)), "ok: svcd.service is enabled and runs");
  match(await of(showOf(file), "/home/ada/.svc"), /^ok: .* runs \/var\/lib\/svc, not this/);
  match(
    await of(showOf(file, { ActiveState: "failed" })),
    /^failed: svcd\.service has failed: see its log, "svc service logs"$/,
  );
  match(
    await of(showOf(file, { ActiveState: "activating", NRestarts: "5" })),
    /^failed: .* does not come up, and was started again 5 times/,
  );
  match(await of(showOf(file, { NRestarts: "1" })), /^warning: .* started again 1 time, after/);
  match(
    await of(showOf(file, { ActiveState: "inactive", UnitFileState: "disabled" })),
    /^warning: .*not enabled.*: systemctl enable --now svcd\.service\nwarning: .* is stopped/,
  );
});

Deno.test("the daemon: one that runs on after an update", async () => {
  const facts = { version: "0.1.0", pid: 7, webhook_url: null, degraded: [], warnings: [] };
  const status = facts as unknown as Status; // it reads no more of it
  const of = async (installed: string) =>
    (await daemon.look({ daemon: status, said: [], installed })).map(({ result }) => result);
  deepEqual(await of("0.1.0"), ["ok"]);
  deepEqual(await of("0.2.0"), ["ok", "warning"]);
});
