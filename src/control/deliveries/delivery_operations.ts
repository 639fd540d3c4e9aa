/**
 * The handlers of the operations on deliveries.
 *
 * @module
 */

import type { DELIVERY_OPERATIONS } from "../../api/delivery_operations.ts";
import type { StatusHost } from "../records/status.ts";
import type { Handlers } from "../server/server.ts";
import { explain, type ExplainHost } from "./explain.ts";
import { redeliver, type RedeliverHost } from "./redeliver.ts";
import { showDelivery } from "./show_delivery.ts";

/** The deliveries of a daemon, and the pipeline through which they go again. */
export type DeliveriesHost = ExplainHost & RedeliverHost & Pick<StatusHost, "status">;

/** The handlers, by name of the operation. */
export function deliveryHandlers(
  host: DeliveriesHost,
): Pick<Handlers, keyof typeof DELIVERY_OPERATIONS> {
  return {
    "delivery.explain": ({ id }) => explain(id, host),
    "delivery.show": (input) => showDelivery(input, host),
    "delivery.redeliver": (input, caller, signal) => redeliver(input, caller, { host, signal }),
  };
}
