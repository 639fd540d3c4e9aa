/**
 * A channel of Slack, in manifests.
 *
 * @module
 */

import Type from "typebox";
import { Name } from "./metadata.ts";

/** Schema of a channel, and of the Connection through which svc posts there. */
export const SlackChannel = Type.Object({
  connection: Name,
  channel: Type.String({ pattern: "^[A-Z0-9]{3,20}$", title: "the id of a channel: C0123456789" }),
}, { additionalProperties: false });
