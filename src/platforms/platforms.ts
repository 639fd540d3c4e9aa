/**
 * REGISTRY of the platforms. A new one is a file and a line here, and its scheme in `signatures/`.
 *
 * @module
 */

import { discord } from "./discord.ts";
import { github } from "./github.ts";
import { gitlab } from "./gitlab.ts";
import { line } from "./line.ts";
import type { Platform } from "./platform.ts";
import { shopify } from "./shopify.ts";
import { slack } from "./slack.ts";
import { standardWebhooks } from "./standard_webhooks.ts";
import { stripe } from "./stripe.ts";
import { twilio } from "./twilio.ts";

/** Every platform. */
export const PLATFORMS: readonly Platform[] = [
  github,
  gitlab,
  slack,
  line,
  stripe,
  shopify,
  standardWebhooks,
  twilio,
  discord,
];

/** The platform of that name. */
export function findPlatform(name: string | undefined): Platform | undefined {
  return PLATFORMS.find((platform) => platform.name === name);
}
