/**
 * The handlers of the operations on deliveries.
 *
 * @module
 */

import type { DELIVERY_OPERATIONS } from "../../api/delivery_operations.ts";
import type { Handlers } from "../server/server.ts";
import { explain } from "./explain.ts";
import { redeliver, type RedeliverHost } from "./redeliver.ts";
import { showDelivery, type ShowHost } from "./show_delivery.ts";

/** What these operations need. */
export type DeliveryOperationsHost = ShowHost & RedeliverHost;

/** The handlers, by name of the operation. */
export function deliveryHandlers(
  host: DeliveryOperationsHost,
): Pick<Handlers, keyof typeof DELIVERY_OPERATIONS> {
  return {
    "delivery.explain": ({ id }) => explain(id, host),
    "delivery.show": (input) => showDelivery(input, host),
    "delivery.redeliver": (input, _caller, signal) => redeliver(input, host, signal),
  };
}
