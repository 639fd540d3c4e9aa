/**
 * Writes the files for package managers from the checksums of a release: a formula for Homebrew, a
 * PKGBUILD for Arch's user repository, and the packages for npm without their programs. The first
 * two need the address of the archives (`SVC_RELEASE_URL`), the npm packages need a scope
 * (`SVC_RELEASE_NPM_SCOPE`). Files whose variable is not set are left out, with a message.
 *
 * @module
 */

import { join } from "node:path";
import { PURPOSE } from "../src/cli/command_list.ts";

export interface Release {
  readonly version: string;
  /** SHA-256 of the archive of each platform, such as `linux-x64`, in hex. */
  readonly sums: ReadonlyMap<string, string>;
}

/** The names that npm has for the system and the processor of each platform. */
const NPM_NAMES: Readonly<Record<string, readonly [os: string, cpu: string]>> = {
  "linux-x64": ["linux", "x64"],
  "linux-arm64": ["linux", "arm64"],
  "macos-x64": ["darwin", "x64"],
  "macos-arm64": ["darwin", "arm64"],
};

const LICENSE = "MIT";
const DESCRIPTION = PURPOSE.charAt(0).toUpperCase() + PURPOSE.slice(1);

/** The address of releases on GitHub, without characters that Ruby or a shell would interpret. */
const RELEASES = /^https:\/\/[\w.:-]+(\/[\w.~-]+)*$/;

/** A scope of npm. */
const SCOPE = /^@[a-z0-9][a-z0-9-]*$/;

/** The archives in the output of `sha256sum`. */
export function readSums(version: string, text: string): Release {
  const sums = new Map<string, string>();
  for (const line of text.trimEnd().split("\n")) {
    const [, sum, name] = /^([0-9a-f]{64}) [ *](.+)$/.exec(line) ?? [];
    const platform = Object.keys(NPM_NAMES).find((one) => name === archive(version, one));
    if (sum === undefined || platform === undefined) {
      throw new Error(`"${line}" is not the sum of an archive of ${version}`);
    }
    sums.set(platform, sum);
  }
  return { version, sums };
}

function archive(version: string, platform: string): string {
  return `svc-${version}-${platform}.tar.gz`;
}

/** The addresses of the project and of an archive of its release. */
function addresses(releases: string, version: string) {
  if (!RELEASES.test(releases)) {
    throw new Error(
      `SVC_RELEASE_URL is "${releases}", not like https://github.com/OWNER/svc/releases`,
    );
  }
  return {
    homepage: releases.replace(/\/releases$/, ""),
    of: (platform: string) => `${releases}/download/v${version}/${archive(version, platform)}`,
  };
}

/** The formula of Homebrew. */
export function formula({ version, sums }: Release, releases: string): string {
  const { homepage, of } = addresses(releases, version);
  const blocks = [["macos", "macos"], ["linux", "linux"]].flatMap(([system = "", block]) => {
    const processors = [["arm", "arm64"], ["intel", "x64"]].flatMap(([name, processor]) => {
      const platform = `${system}-${processor}`;
      const sum = sums.get(platform);
      return sum === undefined ? [] : [
        `    on_${name} do`,
        `      url "${of(platform)}"`,
        `      sha256 "${sum}"`,
        "    end",
      ];
    });
    return processors.length === 0 ? [] : ["", `  on_${block} do`, ...processors, "  end"];
  });
  return `class Svc < Formula
  desc "${DESCRIPTION}"
  homepage "${homepage}"
  version "${version}"
  license "${LICENSE}"
${blocks.join("\n")}

  def install
    prefix.install Dir["*"]
    (share/"svc").mkpath
    (share/"svc/channel").write "homebrew\\n"
  end

  test do
    assert_match "svc #{version} ", shell_output("#{bin}/svc version")
  end
end
`;
}

/** The PKGBUILD of `svc-bin`. */
export function pkgbuild({ version, sums }: Release, releases: string): string {
  const { homepage, of } = addresses(releases, version);
  const processors = [["x86_64", "linux-x64"], ["aarch64", "linux-arm64"]] as const;
  const there = processors.filter(([, platform]) => sums.has(platform));
  return `pkgname=svc-bin
pkgver=${version.replaceAll("-", "_")}
pkgrel=1
pkgdesc='${DESCRIPTION}'
arch=(${there.map(([processor]) => processor).join(" ")})
url='${homepage}'
license=(${LICENSE})
depends=(gcc-libs)
optdepends=('git: worktrees of tasks' 'bubblewrap: sandboxes of steps' 'socat: sandboxes that reach named hosts only')
provides=(svc)
conflicts=(svc)
# The program stands behind a base: strip would take it out, and leave a base that does nothing.
options=(!strip !debug)
${
    there.map(([processor, platform]) =>
      `source_${processor}=('${of(platform)}')\nsha256sums_${processor}=(${sums.get(platform)})`
    ).join("\n")
  }

package() {
  mkdir -p "$pkgdir/usr" "$pkgdir/usr/share/licenses/$pkgname"
  cp -R "$srcdir"/svc-*/* "$pkgdir/usr"
  mkdir "$pkgdir/usr/share/svc"
  echo aur >"$pkgdir/usr/share/svc/channel"
  ln -s ../../doc/svc/LICENSE "$pkgdir/usr/share/licenses/$pkgname/LICENSE"
}
`;
}

/**
 * The files of the packages for npm by path: `NAME/package/FILE`. People install `svc`; the
 * packages of the platforms are its optional dependencies, of which npm installs the one for the
 * machine.
 */
export function npmPackages(
  { version, sums }: Release,
  scope: string,
  shim: string,
): ReadonlyMap<string, string> {
  if (!SCOPE.test(scope)) throw new Error(`SVC_RELEASE_NPM_SCOPE is "${scope}", not like "@owner"`);
  const platforms = [...sums.keys()];
  const common = { version, description: DESCRIPTION, license: LICENSE };
  const names = platforms.map((platform) => `${scope}/svc-${platform}`);
  const shims = { svc: "svc.cjs", svcd: "svc.cjs" };
  const files = new Map<string, string>();
  const add = (name: string, content: unknown): void => {
    files.set(`${name}/package/package.json`, `${JSON.stringify(content, undefined, 2)}\n`);
  };
  add("svc", {
    name: `${scope}/svc`,
    ...common,
    bin: shims,
    engines: { node: ">=18" },
    optionalDependencies: Object.fromEntries(names.map((name) => [name, version])),
  });
  files.set("svc/package/svc.cjs", shim);
  for (const platform of platforms) {
    const [os, cpu] = NPM_NAMES[platform] ?? [];
    add(`svc-${platform}`, {
      name: `${scope}/svc-${platform}`,
      ...common,
      description: `The program of ${scope}/svc for ${platform}`,
      os: [os],
      cpu: [cpu],
      ...os === "linux" ? { libc: ["glibc"] } : {},
    });
  }
  return files;
}

if (import.meta.main) {
  const [version = "", sums = "", directory = ""] = Deno.args;
  const release = readSums(version, await Deno.readTextFile(sums));
  const url = Deno.env.get("SVC_RELEASE_URL") ?? "";
  const scope = Deno.env.get("SVC_RELEASE_NPM_SCOPE") ?? "";
  const write = async (path: string, text: string) => {
    const to = join(directory, path);
    await Deno.mkdir(join(to, ".."), { recursive: true });
    await Deno.writeTextFile(to, text);
  };
  await Deno.mkdir(directory, { recursive: true });
  if (url === "") {
    console.error(
      "release: NOT IN IT: svc.rb, PKGBUILD: SVC_RELEASE_URL does not say where archives lie",
    );
  } else {
    await write("svc.rb", formula(release, url));
    if (release.sums.has("linux-x64")) await write("PKGBUILD", pkgbuild(release, url));
  }
  if (scope === "") {
    console.error(
      "release: NOT IN IT: npm/: SVC_RELEASE_NPM_SCOPE does not say whose packages they are",
    );
  } else {
    const shim = await Deno.readTextFile(new URL("npm_shim.cjs", import.meta.url));
    for (const [path, text] of npmPackages(release, scope, shim)) {
      await write(join("npm", path), text);
    }
  }
}
