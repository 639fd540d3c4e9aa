/**
 * Writes two files about the third-party code in the program into a directory:
 * `THIRD_PARTY_LICENSES`, the texts of the licences, and `svc.cdx.json`, a bill of materials
 * (CycloneDX 1.6, without times, so that the same sources give the same file).
 *
 * @module
 */

import { join } from "node:path";
import { readWorkers } from "./workers.ts";

/** A package of npm whose code may be in the program. */
interface Component {
  readonly name: string;
  readonly version: string;
  /** SPDX expression, as its `package.json` says. */
  readonly license: string;
  /** The author in its `package.json`; empty if there is none. */
  readonly author: string;
  /** SHA-512 of its archive, in hex. */
  readonly sha512: string;
  /** The text of each of its licence and notice files. */
  readonly texts: readonly string[];
}

interface NpmPackage {
  readonly name: string;
  readonly version: string;
  readonly dependencies: readonly string[];
}

/** The used part of `deno info --json FILE`. */
interface Info {
  readonly modules: readonly { readonly npmPackage?: string }[];
  readonly npmPackages: Readonly<Record<string, NpmPackage>>;
}

/** The entry points of the program and of the console's page, without the Workers. */
const ROOTS = ["cli.ts", "console/page/app.tsx"];

const LICENSE_FILE = /^(licen[cs]e|copying|notice)/i;

/** Every package in the program, sorted by name and version. */
async function components(): Promise<Component[]> {
  const workers = await readWorkers();
  const lock = JSON.parse(await Deno.readTextFile("deno.lock"));
  const { denoDir } = await info<{ readonly denoDir: string }>();
  const found = new Map<string, NpmPackage>();
  for (const root of [...ROOTS, ...workers.map(([, path]) => path)]) {
    const { modules, npmPackages } = await info<Info>(root);
    const add = (id: string): void => {
      const one = npmPackages[id];
      if (one === undefined || found.has(id)) return;
      found.set(id, one);
      one.dependencies.forEach(add);
    };
    modules.forEach(({ npmPackage }) => npmPackage !== undefined && add(npmPackage));
  }
  const ids = [...found.keys()].toSorted();
  return await Promise.all(ids.map((id) => {
    const { name, version } = found.get(id) as NpmPackage;
    const directory = join(denoDir, "npm/registry.npmjs.org", name, version);
    return read(directory, name, version, lock.npm[id].integrity);
  }));
}

/** @param integrity such as `sha512-m0Ac…==`. */
async function read(
  directory: string,
  name: string,
  version: string,
  integrity: string,
): Promise<Component> {
  const { license, author } = JSON.parse(await Deno.readTextFile(join(directory, "package.json")));
  if (typeof license !== "string") throw new Error(`${name} ${version} does not name its licence`);
  const files = [...Deno.readDirSync(directory)].map(({ name }) => name).toSorted();
  const texts = files.filter((file) => LICENSE_FILE.test(file))
    .map((file) => Deno.readTextFileSync(join(directory, file)).replaceAll("\r\n", "\n").trim());
  const sha512 = Uint8Array.fromBase64(integrity.replace(/^sha512-/, "")).toHex();
  const id = license.replace(/^\((.*)\)$/, "$1");
  return { name, version, license: id, author: author?.name ?? author ?? "", sha512, texts };
}

async function info<T>(root?: string): Promise<T> {
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", ...root === undefined ? [] : [root]],
    stderr: "inherit",
  }).output();
  if (!success) throw new Error(`deno info ${root ?? ""} failed (see above)`);
  return JSON.parse(new TextDecoder().decode(stdout)) as T;
}

const DENO_LICENSE = `MIT License

Copyright 2018-2026 the Deno authors

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
associated documentation files (the "Software"), to deal in the Software without restriction,
including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense,
and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so,
subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial
portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT
LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN
NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY,
WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE
SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;

const RULE = "-".repeat(80);

/** The licences of all packages as a text, in which each licence text is there once. */
function licences(all: readonly Component[]): string {
  const { deno, v8 } = Deno.version;
  const users = new Map<string, Component[]>();
  for (const one of all) {
    const text = one.texts.join("\n\n") ||
      `${one.name} has no file with its licence. Its package.json names ${one.license}` +
        `${one.author === "" ? "" : `, and as its author ${one.author}`}.`;
    users.set(text, [...users.get(text) ?? [], one]);
  }
  const parts = [...users].map(([text, by]) =>
    [RULE, ...by.map((one) => `${one.name} ${one.version} (${one.license})`), "", text, ""].join(
      "\n",
    )
  );
  return `svc contains the software below.

${RULE}
Deno ${deno} (MIT), with V8 ${v8} and other software, whose licences are listed at
https://github.com/denoland/deno/tree/v${deno}

${DENO_LICENSE}

${parts.join("\n")}`;
}

/** The bill of materials. */
function billOfMaterials(all: readonly Component[]): unknown {
  const { deno, v8 } = Deno.version;
  const runtime = (name: string, version: string, license: string) => ({
    type: "framework",
    name,
    version,
    licenses: [{ license: { id: license } }],
  });
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: { "type": "application", "bom-ref": "svc", "name": "svc" } },
    components: [
      runtime("deno", deno, "MIT"),
      runtime("v8", v8, "BSD-3-Clause"),
      ...all.map(({ name, version, license, sha512 }) => {
        const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
        return {
          "type": "library",
          "bom-ref": purl,
          name,
          version,
          purl,
          "licenses": [{ expression: license }],
          "hashes": [{ alg: "SHA-512", content: sha512 }],
        };
      }),
    ],
  };
}

if (import.meta.main) {
  const [directory = ""] = Deno.args;
  const all = await components();
  await Deno.writeTextFile(join(directory, "THIRD_PARTY_LICENSES"), licences(all));
  const bill = JSON.stringify(billOfMaterials(all), undefined, 2);
  await Deno.writeTextFile(join(directory, "svc.cdx.json"), `${bill}\n`);
}
