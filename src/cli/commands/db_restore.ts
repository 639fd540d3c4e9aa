/**
 * `svc db restore`.
 *
 * @module
 */

import { resolve } from "node:path";
import type { Restored } from "../../api/upkeep_operations.ts";
import { systemClock } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { type Command, DATA_DIR, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import { follow } from "../database_work.ts";
import { interruptible } from "../interrupt.ts";
import { jsonText } from "../json_text.ts";
import { printable } from "../terminal_text.ts";

export const command: Command = defineCommand({
  help: "Replaces the database with a backup; stop the daemon first. It checks the backup " +
    "first, and keeps the old database beside the new one as svc.db.before-restore-TIME. Tasks " +
    "that waited or ran when the backup was made continue at the next start, even if they have " +
    "ended since: --cancel-tasks cancels them instead. Tokens revoked in the old database stay " +
    "revoked; it lists the tokens, secrets and triggers that come back.",
  arguments: [{ name: "<file>", help: "the backup; it is not changed" }],
  options: [
    {
      flags: "--cancel-tasks",
      help: "cancel the tasks that waited or ran when the backup was made",
    },
    {
      flags: "--drop-secrets",
      help: "leave out the SecretStores whose key is lost; apply them again afterwards",
    },
    {
      flags: "--revoke-tokens",
      help: "revoke every token of the backup; make new ones afterwards",
    },
    DATA_DIR,
    OUTPUT_TEXT_JSON,
  ],
  examples: [
    "svc db restore /backup/svc.db",
    "svc db restore /backup/svc.db --cancel-tasks && svc daemon",
  ],
  async run(context) {
    const file = resolve(context.argument(0));
    if ((await Deno.stat(file).catch(() => undefined))?.isFile !== true) {
      throw new AppError("not_found", `No file "${file}"`);
    }
    const request = {
      file,
      cancelTasks: context.options.cancelTasks,
      dropSecrets: context.options.dropSecrets,
      revokeTokens: context.options.revokeTokens,
    };
    return await interruptible(context.io, async (signal) => {
      const host = { dirs: context.dir(), clock: systemClock, signal };
      const { restoreLines } = await import("../../upkeep/lines.ts");
      const restored = await follow(restoreLines(request, host), { io: context.io, signal });
      context.io.out(
        context.options.output === "json" ? jsonText(restored) : restoredText(restored),
      );
    });
  },
});

/** Most lines of one kind; `-o json` has all. */
const MAX_LISTED = 20;

function restoredText(restored: Restored): string {
  const { file, database, kept, open_tasks, cancelled, dropped, sha256, compared } = restored;
  const { former_key_file } = restored;
  const { tokens, revoked_tokens, secrets, resumed, pending_messages } = restored;
  const lines = [`${database} is restored from ${file} (sha256:${sha256})`];
  if (kept !== null) lines.push(`The old database is ${kept}`);
  if (open_tasks > 0) {
    const what = cancelled ? "were ended" : "go on when the daemon starts";
    lines.push(`Tasks that had not ended: ${open_tasks}; they ${what}`);
  }
  if (pending_messages > 0) {
    lines.push(`Messages in the outbox: ${pending_messages}; they are sent when the daemon starts`);
  }
  if (former_key_file !== null) {
    lines.push(
      `Its secrets were sealed with ${former_key_file}, and are sealed with the new key now`,
    );
  }
  for (const name of dropped) lines.push(`SecretStore ${name} is left out: apply it again`);
  if (!compared && kept !== null) {
    lines.push(
      "The old database cannot be read: tokens and keys that were revoked or rotated in it are valid again",
    );
  }
  if (revoked_tokens > 0) lines.push(`Tokens of the backup that are revoked: ${revoked_tokens}`);
  const since = compared ? "was not valid before" : "may have been revoked since the backup";
  lines.push(
    ...listed(
      tokens,
      ({ id, name, role, expires_at }) =>
        `Token ${id} "${name.slice(0, 100)}" (${role}, until ${expires_at}) ${since}: ` +
        `svc token revoke ${id}`,
    ),
    ...listed(secrets, (key) => `SecretStore ${key} is as it was in the backup: rotate it again`),
    ...listed(resumed, (name) => `Trigger ${name} fires again: it was suspended or deleted`),
  );
  return lines.map((line) => `${printable(line)}\n`).join("");
}

function listed<Item>(items: readonly Item[], line: (item: Item) => string): string[] {
  const lines = items.slice(0, MAX_LISTED).map(line);
  const more = items.length - lines.length;
  return more > 0 ? [...lines, `and ${more} more: see -o json`] : lines;
}
