/**
 * Secret values at rest belong to one version of their SecretStore: an old one that somebody puts
 * back into the database does not open, nor does one of the form that had no version, once it is
 * over.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import type { DataDir } from "../../src/base/data_dir.ts";
import { sealUnbound } from "../helpers/sealed_unbound.ts";
import { type ControlRig, controlTest } from "../rigs/control_rig.ts";

const OLD = "the value before it was rotated";
const NEW = "the value after it was rotated";

function manifest(value: string): string {
  return `kind: SecretStore\nmetadata: {name: github}\nspec: {data: {current: ${value}}}\n`;
}

/** The sealed data of the SecretStore as it lies in the database. */
function sealedIn({ database }: DataDir): string {
  using db = new DatabaseSync(database);
  const row = db.prepare("SELECT spec FROM resources WHERE kind = 'SecretStore'").get();
  return String(row?.["spec"]);
}

/** Puts sealed data back, past the daemon. */
function putBack({ database }: DataDir, spec: string): void {
  using db = new DatabaseSync(database);
  db.prepare("UPDATE resources SET spec = ? WHERE kind = 'SecretStore'").run(spec);
}

async function valueIn(rig: ControlRig): Promise<unknown> {
  const shown = await rig.client.call("describe", {
    what: "secretstore",
    name: "github",
    reveal: true,
  });
  return JSON.stringify(shown).includes(NEW) ? NEW : JSON.stringify(shown).includes(OLD) && OLD;
}

/** The daemon does not start on it; then it is put right again. */
async function refusesToStart(rig: ControlRig, spec: string, says: RegExp): Promise<void> {
  const right = sealedIn(rig.dirs);
  putBack(rig.dirs, spec);
  await rejects(rig.restart(), says);
  putBack(rig.dirs, right);
}

controlTest("a value that was rotated away does not open where it is put back", async (rig) => {
  await rig.apply(manifest(OLD));
  const old = sealedIn(rig.dirs);
  await rig.client.call("secret.rotate", {
    store: "github",
    key: "current",
    value: NEW,
    create: false,
  });
  await refusesToStart(rig, old, /SecretStore "github" key "current" cannot be decrypted/);
  await rig.restart();
  equal(await valueIn(rig), NEW);
});

controlTest("nor where the SecretStore was deleted and made again", async (rig) => {
  await rig.apply(manifest(OLD));
  const old = sealedIn(rig.dirs);
  await rig.client.call("delete", { targets: [{ what: "secretstore", names: ["github"] }] });
  await rig.apply(manifest(NEW));
  await refusesToStart(rig, old, /SecretStore "github" key "current" cannot be decrypted/);
  await rig.restart();
});

const PLACE = { project: "default", store: "github", key: "current" };

let earlier = "";

controlTest(
  "values of the form without a version are sealed anew, and open no more",
  async (rig) => {
    equal(await valueIn(rig), OLD);
    match(sealedIn(rig.dirs), /"svc2\./);
    match(await Deno.readTextFile(rig.dirs.secretKey), /^svc2 /);
    equal((Deno.statSync(rig.dirs.secretKey).mode ?? 0) & 0o777, 0o600);
    deepEqual(rig.logged.filter((line) => line.includes("svc1")), []);
    await refusesToStart(rig, earlier, /was sealed by an earlier svc/);
    await rig.restart();
    equal(await valueIn(rig), OLD);
  },
  {
    async prepare({ database, secretKey }) {
      const keyFile = (await Deno.readTextFile(secretKey)).replace("svc2", "svc1");
      await Deno.writeTextFile(secretKey, keyFile);
      earlier = JSON.stringify({ data: { current: await sealUnbound(keyFile, PLACE, OLD) } });
      using db = new DatabaseSync(database);
      db.prepare(
        "INSERT INTO resources VALUES ('SecretStore', 'default', 'github', '{}', ?, 3, 1, 2)",
      )
        .run(earlier);
    },
  },
);

controlTest(
  "a key file that is a link is left as it is, and the log says what to write",
  async (rig) => {
    match(rig.logged.join("\n"), /replace svc1 with svc2/);
    equal(await Deno.readTextFile(rig.dirs.secretKey).then((text) => text.slice(0, 5)), "svc1 ");
  },
  {
    async prepare({ root, secretKey }) {
      const keyFile = (await Deno.readTextFile(secretKey)).replace("svc2", "svc1");
      await Deno.remove(secretKey);
      await Deno.writeTextFile(`${root}/elsewhere`, keyFile, { mode: 0o600 });
      await Deno.symlink(`${root}/elsewhere`, secretKey);
    },
  },
);
