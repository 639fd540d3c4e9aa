/**
 * The packages of coding agents: what each consists of, and that an installation makes it. What the
 * agents do, tests/e2e/real_agents looks at.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok } from "node:assert/strict";
import { join } from "node:path";
import { startDaemon } from "../helpers/daemon.ts";
import type { Manifest } from "../helpers/manifests.ts";
import { programTest, ROOT, run, slowTest } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { AGENT_PACKAGES } from "../rigs/real_agents.ts";

const read = (name: string, file: string) =>
  Deno.readTextFileSync(join(ROOT, "integrations", name, file));

Deno.test("a package of an agent is its Agent, a SecretStore and a guide, all of one name", () => {
  ok(AGENT_PACKAGES.length > 0);
  for (const { name, manifest, inject } of AGENT_PACKAGES) {
    const files = [...Deno.readDirSync(join(ROOT, "integrations", name))].map((file) => file.name);
    deepEqual(files.toSorted(), ["README.md", "agent.yaml", "secrets-template.yaml"]);
    deepEqual([manifest.kind, manifest.metadata.name], ["Agent", name]);
    deepEqual(
      inject.flatMap(({ headers }) => Object.values(headers).map((one) => one.fromSecret)),
      [{ store: name, key: "api_key" }],
    );
    match(read(name, "secrets-template.yaml"), /^ {4}api_key: "<your-[a-z-]+>"$/m);
  }
});

Deno.test("each package of an agent is tried end to end, in a file of its own", () => {
  const files = [...Deno.readDirSync(join(ROOT, "tests/e2e/real_agents"))].map(({ name }) => name);
  const wanted = AGENT_PACKAGES.map(({ name }) => `${name.replaceAll("-", "_")}_test.ts`);
  deepEqual(files.toSorted(), wanted.toSorted());
});

Deno.test("the versions that the packages name as tried are those that tests install", async () => {
  const { stdout } = await run(join(ROOT, ".ci/agents"), ["--list"]);
  const installed = stdout.trimEnd().split("\n").map((line) => line.split(" "));
  deepEqual(
    AGENT_PACKAGES.map(({ program, version }) => [program, version]).toSorted(),
    installed.map(([program, , version]) => [program, version]).toSorted(),
  );
  for (const { name, program, version } of AGENT_PACKAGES) {
    const [, npm] = installed.find(([one]) => one === program) ?? [];
    const guide = read(name, "README.md");
    ok(guide.includes(`\`\`\`sh\n   npm install --global ${npm}@${version}\n`), name);
    ok(guide.includes(`It was tried with version ${version}.`), name);
  }
});

for (const { name, program: started } of AGENT_PACKAGES) {
  const once = name === "claude-code" ? programTest : slowTest;
  once(
    `svc integration install ${name} makes what svc apply makes of the directory`,
    async (program) => {
      await using bin = await tempDir();
      await Deno.symlink("/bin/true", join(bin.path, started));
      const PATH = `${bin.path}:${Deno.env.get("PATH")}`;
      await using daemon = await startDaemon(program, { env: { PATH } });
      const args = ["integration", "install", name, "--set-secret", "api_key=-"];
      const installed = await daemon.svc(args, { stdin: "the-key\n" });
      const made = `secretstore/${name} created\nagent/${name} created\n`;
      deepEqual([installed.code, installed.stdout], [0, made], installed.stderr);
      // Only of what holds for every agent of this daemon, and on this machine.
      const others = installed.stderr.replace(/^.*The sandbox cannot be made on this.*\n/m, "");
      match(others, /^(warning: every step outside a sandbox has the role admin .*\n)?$/);
      const secret = read(name, "secrets-template.yaml").replace(/"<.*>"/, '"the-key"');
      deepEqual(
        (await daemon.svc(["apply", "-f", "-", "-p", "by-hand"], { stdin: secret })).code,
        0,
      );
      const applied = await daemon.svc(["apply", "-f", `integrations/${name}`, "-p", "by-hand"], {
        cwd: ROOT,
      });
      deepEqual(applied.code, 0, applied.stderr);
      for (const kind of ["agents", "secretstores"]) {
        const inProject = async (project: string) =>
          (await daemon.json("get", kind, "-p", project) as Manifest[]).map(
            ({ kind, metadata, spec }) => ({ kind, metadata: { ...metadata, project: "" }, spec }),
          );
        deepEqual(await inProject("default"), await inProject("by-hand"));
      }
      const guide =
        /^## Try it\n[^#]*?^```sh\n([\s\S]*?)^```$/m.exec(read(name, "README.md"))?.[1] ??
          "exit 1";
      deepEqual((await tryGuide(daemon.dataDir, guide)).code, 0);
      deepEqual((await daemon.settled()).map(({ trigger }) => trigger), [`try-${name}`]);
    },
  );
}

async function tryGuide(dataDir: string, script: string) {
  const env = { SVC_DATA_DIR: dataDir, PATH: `${dataDir}/bin:${Deno.env.get("PATH")}` };
  return await run("/bin/sh", ["-euc", script], { env });
}
