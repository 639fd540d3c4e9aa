import { strictEqual as equal } from "node:assert/strict";
import { Counter, Histogram } from "../../src/telemetry/counters.ts";
import { exposition } from "../../src/telemetry/exposition.ts";

Deno.test("exposition gives the text of Prometheus: labels escaped, buckets, empty metrics", () => {
  const runs = new Counter("name", "state");
  runs.add('a"b\\c\nd', "ok");
  const secs = new Histogram([0.5, 10]);
  secs.add(2);
  equal(
    exposition([
      { name: "runs_total", type: "counter", help: "Runs", samples: runs.samples() },
      { name: "secs", type: "histogram", help: "Time", samples: secs.samples({ status: 200 }) },
      { name: "none", type: "gauge", help: "a\\b\nc", samples: [] },
      { name: "limit", type: "gauge", help: "Limit", samples: [{ labels: {}, value: Infinity }] },
    ]),
    `# HELP runs_total Runs
# TYPE runs_total counter
runs_total{name="a\\"b\\\\c\\nd",state="ok"} 1

# HELP secs Time
# TYPE secs histogram
secs_bucket{le="0.5",status="200"} 0
secs_bucket{le="10",status="200"} 1
secs_bucket{le="+Inf",status="200"} 1
secs_sum{status="200"} 2
secs_count{status="200"} 1

# HELP none a\\\\b\\nc
# TYPE none gauge

# HELP limit Limit
# TYPE limit gauge
limit +Inf
`,
  );
});
