/**
 * Azure Event Grid signs nothing and sends a secret: as `token` in the query of its URL, or as a
 * bearer token in `Authorization` or the header that the trigger names. Its first event shows the
 * secret like every other, and expects its `validationCode` back. With the CloudEvents schema an
 * `OPTIONS` request comes first. Bodies are lists of events. From "Endpoint validation" and "Secure
 * WebHook endpoints" of Event Grid's documentation.
 *
 * @module
 */

import { utf8 } from "../base/bytes.ts";
import { defined } from "../base/defined.ts";
import { findParameter } from "../base/form.ts";
import { bearerScheme } from "../signatures/bearer.ts";
import { findSignature, refused, type Signature } from "../signatures/scheme.ts";
import { findMatchingToken } from "../signatures/token.ts";
import { allowEveryOrigin } from "./cloudevents.ts";
import { echoable, findObject, payloadId, type Platform } from "./platform.ts";

const NOWHERE = "no token in the query of its URL, and no header";

const signature: Signature = {
  shows: "token",
  verify(request, keys, options) {
    if (findSignature(request, options) !== undefined) {
      return bearerScheme.verify(request, keys, options);
    }
    const token = findParameter(request.arrivedUrl, "token") ?? "";
    return token === "" ? refused("secret_missing", NOWHERE) : findMatchingToken(utf8(token), keys);
  },
  ...defined({ sign: bearerScheme.sign }),
};

export const azureEventGrid: Platform = {
  name: "azure-event-grid",
  title: "Azure Event Grid",
  headers: [],
  sharedHeader: "Authorization",
  signature,
  auto: false,
  unsignedHandshake: allowEveryOrigin,
  handshake: ({ eventType, data }) => {
    const validationResponse = echoable(findObject(data)?.["validationCode"]);
    const isValidation = eventType === "Microsoft.EventGrid.SubscriptionValidationEvent";
    if (!isValidation || validationResponse === undefined) return undefined;
    return { status: 200, type: "application/json", body: JSON.stringify({ validationResponse }) };
  },
  body: { kind: "any" },
  eventList: "",
  eventId: (event) => payloadId(event.payload["id"], event),
  docs: {
    where: "`token` in the query, or `Authorization`; name the scheme",
    signs: "nothing; sends the secret itself",
    eventId: "`id` and content of each event",
  },
};
