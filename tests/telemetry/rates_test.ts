import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { Rates } from "../../src/telemetry/rates.ts";

/** So many looks make a minute. */
const MINUTE = 12;

function lookFor(rates: Rates, minutes: number): void {
  for (let i = 0; i < minutes * MINUTE; i++) rates.look();
}

Deno.test("Rates tells the last minute from the last five, and forgets what is older", () => {
  using rates = new Rates();
  rates.add("deliveries", "accepted");
  rates.add("deliveries", "accepted");
  rates.add("tasks", "failed");
  deepEqual(rates.lately(), {
    deliveries: { accepted: { last_minute: 2, last_five_minutes: 2 } },
    tasks: { failed: { last_minute: 1, last_five_minutes: 1 } },
  });
  lookFor(rates, 2);
  rates.add("deliveries", "accepted");
  rates.add("deliveries", "rejected");
  deepEqual(rates.lately().deliveries, {
    accepted: { last_minute: 1, last_five_minutes: 3 },
    rejected: { last_minute: 1, last_five_minutes: 1 },
  });
  lookFor(rates, 6);
  deepEqual(rates.lately(), {
    deliveries: {
      accepted: { last_minute: 0, last_five_minutes: 0 },
      rejected: { last_minute: 0, last_five_minutes: 0 },
    },
    tasks: { failed: { last_minute: 0, last_five_minutes: 0 } },
  });
});
