/**
 * Tokens of GitHub without a right, for `github-pull` and `github-push`: the message says which one it
 * needs, nothing is half done, and with the right the same message goes on.
 *
 * @module
 */

import { match, strictEqual as equal } from "node:assert/strict";
import { TOKEN } from "../fakes/github.ts";
import { missing, skippable } from "../helpers/requirements.ts";
import { gitHubFake } from "../rigs/forge_fakes.ts";
import { saidBy, sendAt, siteOf, unharmed, WORKS } from "../rigs/pull_site.ts";

const RIGHTS = ["contents=write", "pull_requests=write", "issues=write"];

for (const work of WORKS) {
  for (const right of RIGHTS) {
    const name = `${work} with a token that lacks ${right}, until it has it`;
    Deno.test(skippable(name, missing("git")), async () => {
      const permissions = RIGHTS.filter((one) => one !== right || work === "renew a pull");
      const forge = await gitHubFake({ tokens: [{ ...TOKEN, permissions }] });
      await using site = await siteOf(work, forge);
      if (permissions.includes(right)) permissions.splice(permissions.indexOf(right), 1);
      const result = await sendAt(site);
      const { branch, commit } = site;
      const isUnneeded = work === "push onto a pull" && right !== "contents=write" ||
        // The title, the text and the labels are as they were.
        work === "renew a pull" && right === "issues=write";
      if (isUnneeded) return equal(result.result, "sent");
      equal(result.result, "refused");
      match(saidBy(site, result), new RegExp(`needs the permission ${right}`));
      await unharmed(site, []);
      permissions.push(right);
      const again = site.rig.send({ ...site.given, uncertainSince: 1 });
      equal((await sendAt(site, again)).result, "sent");
      equal(await forge.git.find(forge.repository, `refs/heads/${branch}`), commit);
      await unharmed(site, []);
    });
  }
}
