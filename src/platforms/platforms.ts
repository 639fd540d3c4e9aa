/**
 * REGISTRY of the platforms: a new platform is a file and a line here. The schemes of manifests,
 * the forms of `auto`, the platform of a header and the tables of the documentation come from it.
 *
 * ```ts
 * import { platformOf } from "./platforms.ts";
 * import { strictEqual as equal } from "node:assert/strict";
 *
 * equal(platformOf("auto", "X-Hub-Signature-256")?.name, "github");
 * equal(platformOf("slack", undefined)?.name, "slack");
 * equal(platformOf("sha256", "X-Webhook-Signature"), undefined);
 * ```
 *
 * @module
 */

import { contentful } from "./contentful.ts";
import { asana } from "./asana.ts";
import { azureEventGrid } from "./azure_event_grid.ts";
import { bitbucket } from "./bitbucket.ts";
import { cloudevents } from "./cloudevents.ts";
import { discord } from "./discord.ts";
import { dropbox } from "./dropbox.ts";
import { gitea } from "./gitea.ts";
import { github } from "./github.ts";
import { gitlab } from "./gitlab.ts";
import { line } from "./line.ts";
import { linear } from "./linear.ts";
import { mailgun } from "./mailgun.ts";
import { meta } from "./meta.ts";
import { microsoftGraph } from "./microsoft_graph.ts";
import { monday } from "./monday.ts";
import { notion } from "./notion.ts";
import { okta } from "./okta.ts";
import { pagerduty } from "./pagerduty.ts";
import type { Platform } from "./platform.ts";
import { shopify } from "./shopify.ts";
import { slack } from "./slack.ts";
import { sns } from "./sns.ts";
import { standardWebhooks } from "./standard_webhooks.ts";
import { stripe } from "./stripe.ts";
import { trello } from "./trello.ts";
import { twilio } from "./twilio.ts";
import { twitch } from "./twitch.ts";
import { woocommerce } from "./woocommerce.ts";
import { zoom } from "./zoom.ts";

/** All platforms, in the order of the documentation. */
export const PLATFORMS: readonly Platform[] = [
  github,
  slack,
  line,
  gitlab,
  stripe,
  shopify,
  standardWebhooks,
  twilio,
  discord,
  gitea,
  meta,
  zoom,
  trello,
  linear,
  mailgun,
  sns,
  contentful,
  asana,
  azureEventGrid,
  bitbucket,
  cloudevents,
  dropbox,
  microsoftGraph,
  monday,
  notion,
  okta,
  pagerduty,
  twitch,
  woocommerce,
];

const BY_NAME: ReadonlyMap<string, Platform> = new Map(
  PLATFORMS.map((platform) => [platform.name, platform]),
);

const BY_HEADER: ReadonlyMap<string, Platform> = new Map(
  PLATFORMS.flatMap((platform) =>
    platform.headers.map((header) => [header.toLowerCase(), platform] as const)
  ),
);

/**
 * The platform of a trigger: by `scheme` if that names one, else by `signatureHeader`. It
 * determines handshakes and deduplication, also if an interceptor authenticates.
 *
 * @param schemeName Value of `scheme` in the manifest, if any.
 * @param headerName Value of `signatureHeader` in the manifest, in any case, if any.
 */
export function platformOf(
  schemeName: string | undefined,
  headerName: string | undefined,
): Platform | undefined {
  return BY_NAME.get(schemeName ?? "") ?? BY_HEADER.get(headerName?.toLowerCase() ?? "");
}
