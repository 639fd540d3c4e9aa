/**
 * `svc init`.
 *
 * @module
 */

import { systemClock } from "../../base/clock.ts";
import { initDataDir } from "../../init.ts";
import { type Command, type CommandContext, DATA_DIR, OUTPUT_TEXT_JSON } from "../command.ts";
import { jsonText } from "../json_text.ts";

/** Makes the data directory. */
export const command: Command = {
  help: "Creates the data directory with its database and its encryption key. Run it once before " +
    "the daemon; running it again changes nothing that exists.",
  options: [DATA_DIR, OUTPUT_TEXT_JSON],
  examples: ["svc init", "svc init --data-dir /var/lib/svc"],
  async run(context: CommandContext) {
    const dir = context.dir();
    const { made, closed } = await initDataDir(dir, { clock: systemClock, env: context.io.env });
    if (closed !== undefined) context.io.err(`warning: ${closed}\n`);
    if (context.option("output") === "json") {
      return context.io.out(jsonText({ data_dir: dir.root, created: made }));
    }
    for (const path of made) context.io.out(`created ${path}\n`);
    if (made.length === 0) context.io.out(`${dir.root} is initialised already\n`);
  },
};
