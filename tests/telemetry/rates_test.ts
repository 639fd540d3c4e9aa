import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { Rates } from "../../src/telemetry/rates.ts";
import { ManualClock } from "../helpers/manual_clock.ts";

const MINUTE_MS = 60_000;

Deno.test("Rates tells the last minute from the last five, and forgets what is older", async () => {
  const clock = new ManualClock();
  using rates = new Rates(clock);
  rates.add("deliveries", "accepted");
  rates.add("deliveries", "accepted");
  rates.add("tasks", "failed");
  deepEqual(rates.lately(), {
    deliveries: { accepted: { last_minute: 2, last_five_minutes: 2 } },
    tasks: { failed: { last_minute: 1, last_five_minutes: 1 } },
  });
  await clock.advance(2 * MINUTE_MS);
  rates.add("deliveries", "accepted");
  rates.add("deliveries", "rejected");
  deepEqual(rates.lately().deliveries, {
    accepted: { last_minute: 1, last_five_minutes: 3 },
    rejected: { last_minute: 1, last_five_minutes: 1 },
  });
  await clock.advance(6 * MINUTE_MS);
  deepEqual(rates.lately(), {
    deliveries: {
      accepted: { last_minute: 0, last_five_minutes: 0 },
      rejected: { last_minute: 0, last_five_minutes: 0 },
    },
    tasks: { failed: { last_minute: 0, last_five_minutes: 0 } },
  });
});
