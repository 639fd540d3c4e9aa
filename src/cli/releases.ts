/**
 * Finds the newest release from the answer of the server that has the releases, and says how to
 * update to it.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import type { Answered } from "../http/send.ts";
import { plainWord } from "../service/steps.ts";

/** A file of every release; its address tells the newest, and so does what is in it. */
export function sumsAddress(releases: string): string {
  return `${releases.replace(/\/+$/, "")}/latest/download/SHA256SUMS`;
}

/** A version as it stands in addresses and names of archives. */
const VERSION = String.raw`(\d{1,9}\.\d{1,9}\.\d{1,9})`;

/**
 * The version of the newest release, by the answer to a request for {@linkcode sumsAddress}: GitHub
 * sends on to the release, a plain server has the file of the newest.
 *
 * @throws {AppError} `unreachable` where it does not say one.
 */
export function newestVersion(
  releases: string,
  { status, headers, text }: Pick<Answered, "status" | "headers" | "text">,
): string {
  const sentTo = status >= 300 && status < 400 ? headers.get("location") ?? "" : "";
  const found = new RegExp(`/download/v${VERSION}/`).exec(sentTo)?.[1] ??
    (status === 200
      ? new RegExp(`^[0-9a-f]{64} [ *]svc-${VERSION}-`, "m").exec(text)?.[1]
      : undefined);
  if (found !== undefined) return found;
  if (status === 404) {
    throw new AppError(
      "unreachable",
      `There is no release at ${releases}: give the address with --url`,
    );
  }
  const type = headers.get("content-type")?.split(";")[0] ?? "";
  const what = [`HTTP ${status}`, ...type === "" ? [] : [type]].join(", ");
  throw new AppError(
    "unreachable",
    `${releases} does not say which release is the newest (${what}): see whether a proxy ` +
      "answers in its place (HTTPS_PROXY), or give another address with --url",
  );
}

/** Whether `one` is of a later release than `other`. */
export function isNewer(one: string, other: string): boolean {
  const [a, b] = [one, other].map((version) => version.split(/[.+-]/).slice(0, 3).map(Number));
  for (const at of [0, 1, 2]) {
    const difference = (a?.[at] ?? 0) - (b?.[at] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return false;
}

/** How this program was installed, and from where. */
export interface Origin {
  /** `install.sh`, `deb`, …; `undefined` when it was put here by hand, or runs from its sources. */
  readonly channel: string | undefined;
  /** Directory that it was installed in, such as `/usr/local`. */
  readonly prefix: string;
  /** Address of the releases. */
  readonly releases: string;
}

/** How to update a program to a version: a command, or a sentence. */
export function howToUpdate({ channel, prefix, releases }: Origin, version: string): string {
  switch (channel) {
    case "install.sh":
      return `curl -fsSL ${releases}/latest/download/install.sh | sh -s -- --prefix ${
        plainWord(prefix)
      }`;
    case "deb":
      return `get the .deb from ${releases}/tag/v${version}, and: sudo apt-get install ./svc_${version}_*.deb`;
    case "rpm":
      return `get the .rpm from ${releases}/tag/v${version}, and: sudo dnf install ./svc-${version}*.rpm`;
    case "npm":
      return "npm update --global";
    case "homebrew":
      return "brew upgrade svc";
    case "aur":
      return "update the AUR package svc-bin";
    case "container":
      return "rebuild or pull the image, and start the container from it";
    default:
      return `get it from ${releases}/tag/v${version}, and replace this program with it`;
  }
}
