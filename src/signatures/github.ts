/**
 * Scheme `github`: `X-Hub-Signature-256: sha256=<hex>` over the exact body, form-encoded or JSON.
 *
 * GitHub also sends `X-Hub-Signature` with SHA-1 beside it; that one is never looked at. Neither
 * covers the headers: `X-GitHub-Event` and `X-GitHub-Delivery` of a captured body can be changed.
 *
 * @module
 */

import type { Scheme } from "./scheme.ts";
import { templatedHmac } from "./templated_hmac.ts";

/** The scheme `github`. */
export const githubScheme: Scheme = templatedHmac({
  name: "github",
  defaultHeader: "X-Hub-Signature-256",
  spec: () => ({
    form: { hash: "sha256", encoding: "hex", prefix: "sha256=" },
    template: "{body}",
  }),
});
