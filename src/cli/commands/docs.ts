/**
 * `svc docs`: the pages of the manual, and the search in them.
 *
 * @module
 */

import { type Command, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";

export const command: Command = defineCommand({
  help:
    "Prints the manual of this version of svc: without a topic the list of pages, else the page " +
    "or one section of it. --search finds sections. Needs no daemon and no network.",
  arguments: [
    { name: "[topic]", help: "page, such as deliveries; or a section: deliveries#duplicates" },
    { name: "[section...]", help: "only this section: its heading, or a part of it" },
  ],
  options: [
    { flags: "--search <words...>", help: "find the sections about these words, best first" },
    OUTPUT_TEXT_JSON,
  ],
  examples: [
    "svc docs",
    "svc docs deliveries | less",
    "svc docs commands svc apply",
    "svc docs --search why did it not fire",
  ],
  async run(context) {
    const { printManual } = await import("../print_manual.ts");
    await printManual({
      topic: context.argument(0),
      section: context.arguments(1).join(" "),
      search: context.options.search.join(" "),
      isJson: context.options.output === "json",
    }, context.io);
  },
});
