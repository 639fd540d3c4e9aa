/**
 * `svc version`.
 *
 * @module
 */

import { dirname, join } from "node:path";
import { systemClock } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { VERSION } from "../../base/version.ts";
import { type Command, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import { interruptible } from "../interrupt.ts";
import { jsonText } from "../json_text.ts";

/** Exit code when a newer version is out. */
const NEWER = 1;
const ANSWER_WITHIN_MS = 15_000;

export const command: Command = defineCommand({
  help: "Prints the version of svc and of the Deno it runs on. Needs no daemon. With --check, it " +
    "asks the release address once whether a newer version is out, and says how to update this " +
    "svc: exit 1 if there is one, 3 if the address does not say. svc never asks otherwise, and " +
    "never replaces itself.",
  options: [
    { flags: "--check", help: "ask whether a newer version is out" },
    {
      flags: "--url <url>",
      help: "with --check: address of the releases (default: where this svc was installed from)",
    },
    OUTPUT_TEXT_JSON,
  ],
  examples: [
    "svc version",
    "svc version -o json",
    "svc version --check",
    "svc version --check --url https://github.com/OWNER/svc/releases",
  ],
  async run(context) {
    const { io } = context;
    const facts = { version: VERSION, deno: Deno.version.deno, target: Deno.build.target };
    const isJson = context.options.output === "json";
    const text = `svc ${facts.version} (Deno ${facts.deno}, ${facts.target})\n`;
    if (!context.options.check) {
      if (context.options.url !== undefined) {
        throw new AppError("usage", "--url requires --check");
      }
      return io.out(isJson ? jsonText(facts) : text);
    }
    return await interruptible(io, async (signal) => {
      const { newest, isOut, how } = await check(context.options.url, signal);
      if (isJson) io.out(jsonText({ ...facts, newest, newer: isOut, update: isOut ? how : null }));
      else io.out(text + (isOut ? `svc ${newest} is out: ${how}\n` : "There is no newer one\n"));
      return isOut ? NEWER : 0;
    });
  },
});

/**
 * Asks for the newest release.
 *
 * @throws {AppError} `usage` when nothing says whom to ask, `unreachable` when there is no answer.
 */
async function check(url: string | undefined, signal: AbortSignal) {
  const prefix = dirname(dirname(Deno.execPath()));
  const channel = await findLine(join(prefix, "share/svc/channel"));
  const releases = url ?? await findLine(join(prefix, "share/svc/releases-url"));
  if (releases === undefined) {
    throw new AppError(
      "usage",
      "svc does not know where its releases are: give the address with --url",
    );
  }
  if (!/^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/.test(releases)) {
    throw new AppError("usage", `"${releases}" is not a release address: give https://…/releases`);
  }
  // Loaded only here: scripts run `svc version` often, and without --check it sends nothing.
  const { send } = await import("../../http/send.ts");
  const { howToUpdate, isNewer, newestVersion, sumsAddress } = await import("../releases.ts");
  const answer = await send(
    sumsAddress(releases),
    { timeoutMs: ANSWER_WITHIN_MS, signal },
    systemClock,
  );
  if (!answer.answered) throw new AppError("unreachable", answer.message);
  const newest = newestVersion(releases, answer);
  const how = howToUpdate({ channel, prefix, releases: releases.replace(/\/+$/, "") }, newest);
  return { newest, isOut: isNewer(newest, VERSION), how };
}

/** The line of a file with one line; `undefined` if the file is absent or empty. */
async function findLine(path: string): Promise<string | undefined> {
  const text = await Deno.readTextFile(path).catch(() => "");
  return text.split("\n")[0]?.trim() || undefined;
}
