/**
 * What is printed can be applied again, and single secrets can be set and removed.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { defined } from "../../src/base/defined.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { secretStore, toText, trigger, workflow } from "../helpers/manifests.ts";
import { slowTest } from "../helpers/program.ts";

const SECRET = "a secret of 32 bytes, or so it is";
const ALL = [
  secretStore("github", { webhook_secret: SECRET, next: "another secret of about 32 bytes" }),
  workflow("record", "true"),
  trigger("push"),
  trigger("pull"),
];

async function values(daemon: TestDaemon, store = "github"): Promise<unknown> {
  const found = await daemon.json("describe", `secretstore/${store}`) as {
    spec: { data: unknown };
  };
  return found.spec.data;
}

slowTest(
  "get -o yaml and -o json apply again, one or a list, secrets unread",
  async (program) => {
    await using daemon = await startDaemon(program);
    const apply = (stdin: string) => daemon.svc(["apply", "-f", "-"], { stdin });
    equal((await apply(toText(ALL))).code, 0);
    for (
      const what of [["trigger/push"], ["triggers"], ["workflows"], ["secretstore/github"], ["ss"]]
    ) {
      for (const format of ["yaml", "json"]) {
        const { stdout } = await daemon.svc(["get", ...what, "-o", format]);
        equal(stdout.includes(SECRET), false);
        const { code, stdout: done, stderr } = await apply(stdout);
        deepEqual([code, stderr], [0, ""], `${what} as ${format}`);
        match(done, /^(\S+ unchanged\n)+$/);
      }
    }
    const changed = JSON.stringify(
      secretStore("github", { webhook_secret: "***", next: "changed to another value" }),
    );
    deepEqual((await apply(changed)).stdout, "secretstore/github configured\n");
    deepEqual(await values(daemon), { webhook_secret: SECRET, next: "changed to another value" });

    const added = JSON.stringify(secretStore("github", { webhook_secret: "***", third: "***" }));
    const refused = await apply(added);
    deepEqual([refused.code, refused.stdout], [1, ""]);
    match(
      refused.stderr,
      /spec\.data\.third: \*\*\* keeps the stored value, but SecretStore "github" has no key "third": write the secret itself, or set it with "svc secret set github third" first/,
    );
    deepEqual(await values(daemon), { webhook_secret: SECRET, next: "changed to another value" });
  },
);

slowTest(
  "secret set creates and changes; secret-rotate --remove takes a key out",
  async (program) => {
    await using daemon = await startDaemon(program);
    const svc = async (args: string[], stdin?: string) => {
      const { code, stdout, stderr } = await daemon.svc(args, defined({ stdin }));
      return { code, stdout, stderr };
    };
    const set = (stdin: string, ...args: string[]) => svc(["secret", "set", ...args], stdin);
    deepEqual(await set(`${SECRET}\n`, "github", "old"), {
      code: 0,
      stdout: "secretstore/github key old created in a new SecretStore\n",
      stderr: "note: the line break at the end is left out; --exact keeps it\n" +
        "note: nothing refers to secretstore/github yet\n",
    });
    equal(
      (await set("with a break\n", "github", "next", "--exact")).stdout,
      "secretstore/github key next created\n",
    );
    equal(
      (await set("changed it is, and long", "github", "next")).stdout,
      "secretstore/github key next changed\n",
    );
    deepEqual(await values(daemon), { old: SECRET, next: "changed it is, and long" });
    for (
      const [value, why] of [["", /is empty/], ["***", /shows in place of a secret/], [
        "<your-key>",
        /placeholder/,
      ]] as const
    ) {
      const { code, stderr } = await set(value, "github", "old");
      equal(code, 1);
      match(stderr, why);
    }
    match((await set("a value of some length", "-bad-", "k")).stderr, /a name|option/);

    const remove = (...args: string[]) =>
      svc(["tool", "secret-rotate", "github", "--remove", ...args]);
    equal((await remove("nope")).code, 4);
    match(
      (await remove("old")).stdout,
      /^secretstore\/github key old removed \(never matched, set \S+ ago\)\n$/,
    );
    const last = await remove("next");
    equal(last.code, 1);
    match(
      last.stderr,
      /^error: Nothing was removed: "next" is the only key of SecretStore "github" \(never matched, set \S+ ago\)/,
    );
    equal((await remove("next", "--force")).code, 0);
    deepEqual(await values(daemon), {});
    equal((await svc(["tool", "secret-rotate", "github", "a", "--remove", "b"])).code, 2);
    equal((await svc(["tool", "secret-rotate", "github"])).code, 2);

    await set("a token of some length", "bot", "token");
    const needing = {
      ...workflow("post", "true"),
      spec: {
        env: { T: { fromSecret: { store: "bot", key: "token" } } },
        steps: [{ id: "a", run: "true" }],
      },
    };
    equal((await svc(["apply", "-f", "-"], toText([needing]))).code, 0);
    const named = await svc(["tool", "secret-rotate", "bot", "--remove", "token"]);
    equal(named.code, 1);
    match(
      named.stderr,
      /is named elsewhere; change that first, or add --force\n {2}workflow\/post \(spec\.env\.T\.fromSecret\.store\)/,
    );
  },
);
