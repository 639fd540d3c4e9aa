/**
 * A request of every platform that `docs/platforms.md` describes by general schemes. Where the
 * platform has a library for Node that signs or verifies, the signature is the library's or was
 * accepted by it; the others were made with `node:crypto` as the platform's documentation says.
 *
 * @module
 */

/** One signed request. */
export interface GeneralRequest {
  /** Value of the SecretStore. */
  readonly secret: string;
  /** A key of the same form that is not the sender's. */
  readonly otherSecret?: string;
  readonly headers: Readonly<Record<string, string>>;
  /** {@linkcode BODY} when absent. */
  readonly body?: string;
  /** Name of a header that the platform sends with its id, which no signature covers. */
  readonly unsignedId?: string;
}

/** Body of every request that has none of its own; at `AT`. */
export const BODY =
  '{"id":"evt_1","event_id":"evt_1","event":{"id":"evt_1"},"update_id":1,"message":"Grüße"}';

/** Milliseconds since the epoch at which they were signed. */
export const AT = 1_700_000_000_000;

const ADYEN_KEY = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056";
const TERRAFORM = "0f03f82abd46c8423cdc7c9ed34bf07d35716592f371ca0415d7571ca2ddae96" +
  "84f6077f55d4ef003230600cf21a6a14225f0a83fa7cb8961a60a0c160fa80d4";

const hub = (platform: string, digest: string): GeneralRequest => ({
  secret: `${platform} secret`,
  headers: { "X-Hub-Signature": `sha256=${digest}` },
});

/** By the first cell of their lines. */
export const GENERAL_REQUESTS: Readonly<Record<string, GeneralRequest>> = {
  "Adyen, with the header `HmacSignature`": { // @adyen/api-library, hmacValidator
    secret: ADYEN_KEY,
    otherSecret: ADYEN_KEY.replace("44", "45"),
    headers: { HmacSignature: "dED75FtyJ7wgoTo0EwHmC+YJT18GZHjAT5rt+o76+TM=" },
  },
  Airtable: {
    secret: "YWlydGFibGUgc2VjcmV0AP8=",
    otherSecret: "AAECAwQFBgcICQoLDA0ODw==",
    headers: {
      "X-Airtable-Content-MAC":
        "hmac-sha256=e5107b1c8b306dbcf8f8c3b5e5edf0a699bd36c033854faf898d87e8ffce8763",
    },
  },
  Alertmanager: {
    secret: "a-token",
    headers: { Authorization: "Bearer a-token" },
  },
  "Azure DevOps, Postmark, Chargebee": { // RFC 7617, section 2
    secret: "Aladdin:open sesame",
    otherSecret: "Aladdin:close sesame",
    headers: { Authorization: "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==" },
  },
  Buildkite: {
    secret: "buildkite secret",
    headers: {
      "X-Buildkite-Signature":
        "timestamp=1700000000,signature=d4e1460a47d4f9f68049ea51cbeb09507cf42fba4cfb3d3d1a304d593baba974",
    },
    unsignedId: "X-Buildkite-Request",
  },
  Calendly: {
    secret: "calendly secret",
    headers: {
      "Calendly-Webhook-Signature":
        "t=1700000000,v1=0fc14b52270c8b7c02da029d235d2f27934ed20268d29778d947b8bff53cefc5",
    },
  },
  CircleCI: { // a list, as its documentation announces it for later versions
    secret: "circleci secret",
    headers: {
      "circleci-signature":
        "v1=ef3a56ed8dc730d52577e21a66b68ae8b39b0eeceadf261b3c0d391c9e9f5e30,v2=0",
    },
  },
  "Cloudflare notifications": { secret: "a-token", headers: { "cf-webhook-auth": "a-token" } },
  "Docker registry": {
    secret: "a-token",
    headers: { Authorization: "Bearer a-token" },
    body: '{"events":[{"id":"320678d8-ca14-430f-8bb6-4ca139cd83f7","action":"push"}]}',
  },
  GoCardless: {
    secret: "gocardless secret",
    headers: {
      "Webhook-Signature": "19de6ce83a707e8dd3d88e00b90b6d98d177e322587865479d4fe450ddf2bdc8",
    },
  },
  "Grafana alerting": {
    secret: "grafana secret",
    headers: {
      "X-Grafana-Alerting-Signature":
        "59a31e6f339c00e4708c28f51d6da7d11fa521df5f435cc1add353a044087fa0",
      "X-Grafana-Alerting-Timestamp": "1700000000",
    },
  },
  "HubSpot v3": { // @hubspot/api-client, Signature.getSignature
    secret: "hubspot secret",
    headers: {
      "X-HubSpot-Signature-v3": "8mS998/XEJ6hoVDnTQ/rtxASEOZBvXV8YLHGR3UqqAg=",
      "X-HubSpot-Request-Timestamp": "1700000000000",
    },
  },
  Intercom: {
    secret: "intercom secret",
    headers: { "X-Hub-Signature": "sha1=5576fedc3c20c67118e1b8ec606c4272a7804e84" },
  },
  Jira: {
    ...hub("jira", "a3d9df4c6557bbd5090e04c2081f994984df1f4e3d867b012f03aa31b904edc3"),
    unsignedId: "X-Atlassian-Webhook-Identifier",
  },
  "Mattermost slash commands": { secret: "a-token", headers: { Authorization: "Token a-token" } },
  Mux: {
    secret: "mux secret",
    headers: {
      "Mux-Signature":
        "t=1700000000,v1=03a956167a7cfe9945ccc318b9c7be57dc14846becd62aa24707bf62365c55a6",
    },
  },
  Paddle: { // @paddle/paddle-node-sdk, isSignatureValid
    secret: "paddle secret",
    headers: {
      "Paddle-Signature":
        "ts=1700000000;h1=6955feacacc20bae85a759f981e0f1fa70e286a407e1ef902ac8e5bab94a38ea",
    },
  },
  Razorpay: {
    secret: "razorpay secret",
    headers: {
      "X-Razorpay-Signature": "b248f4ac1a4c01a1406e259fc92ffa8771ac101e725d81ccccf412d8ce8d801b",
    },
    unsignedId: "x-razorpay-event-id",
  },
  Sanity: { // @sanity/webhook, encodeSignatureHeader
    secret: "sanity secret",
    headers: {
      "sanity-webhook-signature": "t=1700000000000,v1=1cK8gdtYDzniIiQ1-VYrn_-ndR7UdDEkGBPgR5QpqqI",
    },
    unsignedId: "idempotency-key",
  },
  Sentry: {
    secret: "sentry secret",
    headers: {
      "Sentry-Hook-Signature": "48a6dd377ce8ba3c7b6bdd510b1e474c6f1e71bbcd88273aaad963c78f7c1752",
    },
    unsignedId: "Request-ID",
  },
  Snyk: hub("snyk", "faecff292f05fcd5ce5d952bb5468fc4791ef0c2aaa091c35b9050515be6f854"),
  Square: { // square, WebhooksHelper.verifySignature
    secret: "square secret",
    headers: { "x-square-hmacsha256-signature": "sfbOovD60ys3wjgcAlMvepU8Dfdn8tvPhUbQ0CYaqww=" },
  },
  Telegram: { secret: "a-token", headers: { "X-Telegram-Bot-Api-Secret-Token": "a-token" } },
  "Terraform (HCP)": {
    secret: "terraform secret",
    headers: { "X-TFE-Notification-Signature": TERRAFORM },
  },
  Typeform: {
    secret: "typeform secret",
    headers: { "Typeform-Signature": "sha256=JWf2Gr2udw6H5dTFqiC4JLLHB6hdtXZNk9HaCKQHSCw=" },
  },
  Vercel: {
    secret: "vercel secret",
    headers: { "x-vercel-signature": "2652a870a11bb5de2bf956aa28f3540455fea5b8" },
  },
  WorkOS: { // @workos-inc/node, computeSignature
    secret: "workos secret",
    headers: {
      "WorkOS-Signature":
        "t=1700000000000, v1=6d8fbecb4707bb8c5a8cd68fdec6d925bf72e33b2b623d58210e5b19c470a40b",
    },
  },
  Zendesk: {
    secret: "zendesk secret",
    headers: {
      "X-Zendesk-Webhook-Signature": "+PUDH1C/3AFBfdgdMl4jHifmw2gHNfHQUr664JJXRa4=",
      "X-Zendesk-Webhook-Signature-Timestamp": "2023-11-14T22:13:20Z",
    },
    unsignedId: "X-Zendesk-Webhook-Invocation-Id",
  },
};
