/**
 * `svc token revoke`.
 *
 * @module
 */

import { type Command, CONNECTION, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";

export const command: Command = defineCommand({
  help: "Revokes a token of the control plane at once. Needs the role admin.",
  arguments: [{ name: "<token>", help: "its id, or a part of it", complete: "token" }],
  options: [...CONNECTION, OUTPUT_TEXT_JSON],
  examples: ['svc token revoke "$(svc get token latest -o name)"'],
  async run(context) {
    using client = context.client();
    const { id } = await client.call("token.revoke", { id: context.argument(0) });
    context.io.out(
      context.options.output === "json" ? `${JSON.stringify({ id })}\n` : `${id} revoked\n`,
    );
  },
});
