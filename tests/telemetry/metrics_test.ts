import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { Metrics } from "../../src/telemetry/metrics.ts";

const BUILD = { version: "1.2.3", deno: "4.5.6" };

function linesOf(
  metrics: Metrics,
  exists: (project: string, trigger: string) => boolean = () => true,
): string[] {
  return metrics.text({}, exists).split("\n");
}

function samples(lines: readonly string[], name: string): string[] {
  return lines.filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
}

Deno.test("Metrics gives every metric with its type, its help and the prefix svc_", () => {
  const text = linesOf(new Metrics(BUILD));
  const help = text.filter((line) => line.startsWith("# HELP"));
  const types = text.filter((line) => line.startsWith("# TYPE"));
  ok(help.length > 25, `${help.length}`);
  equal(types.length, help.length);
  for (const line of help) match(line, /^# HELP svc_[a-z_]+ [A-Z]/);
  for (const line of types) match(line, /^# TYPE svc_[a-z_]+ (counter|gauge|histogram)$/);
  for (const line of types.filter((one) => one.endsWith(" counter"))) {
    match(line, /_total counter$/);
  }
  deepEqual(samples(text, "svc_build_info"), ['svc_build_info{version="1.2.3",deno="4.5.6"} 1']);
});

Deno.test("Metrics counts deliveries by trigger and outcome, of triggers that are there", () => {
  const metrics = new Metrics(BUILD);
  metrics.delivery("default", "push", "accepted");
  metrics.delivery("default", "push", "accepted");
  metrics.delivery("default", "gone", "filtered");
  const lines = linesOf(metrics, (_, trigger) => trigger !== "gone");
  deepEqual(samples(lines, "svc_deliveries_total"), [
    'svc_deliveries_total{project="default",trigger="push",outcome="accepted"} 2',
  ]);
});

Deno.test("Metrics has no more series than it says, however many triggers there are", () => {
  const metrics = new Metrics(BUILD);
  for (let n = 0; n < 6000; n++) metrics.delivery("default", `t${n}`, "accepted");
  metrics.delivery("default", "t0", "filtered");
  const lines = samples(linesOf(metrics), "svc_deliveries_total");
  equal(lines.length, 5002, "5,000, the second outcome of one of them, and the others together");
  ok(lines.includes(
    'svc_deliveries_total{project="(others)",trigger="(others)",outcome="accepted"} 1000',
  ));
});

Deno.test("Metrics puts durations into buckets", () => {
  const metrics = new Metrics(BUILD);
  metrics.request(200, 0.004);
  metrics.request(200, 3);
  metrics.request(503, 60);
  metrics.taskEnd({ project: "default", workflow: "ci" }, "failed", 70);
  const lines = linesOf(metrics);
  const name = "svc_webhook_request_duration_seconds";
  ok(lines.includes(`${name}_bucket{le="0.005",status="200"} 1`));
  ok(lines.includes(`${name}_bucket{le="+Inf",status="200"} 2`));
  ok(lines.includes(`${name}_bucket{le="30",status="503"} 0`));
  ok(lines.includes(`${name}_count{status="503"} 1`));
  const labels = 'project="default",workflow="ci",state="failed"';
  ok(lines.includes(`svc_task_duration_seconds_bucket{le="300",${labels}} 1`));
  ok(lines.includes(`svc_task_duration_seconds_sum{${labels}} 70`));
});

Deno.test("Metrics reads its values anew each time", () => {
  const metrics = new Metrics(BUILD);
  const text = (n: number) => {
    const readings = {
      tasks: [{ state: "ready", value: n }],
      process_cpu_seconds_total: [{ value: n }],
    };
    return metrics.text(readings, () => true).split("\n");
  };
  text(1);
  const lines = text(5);
  deepEqual(samples(lines, "svc_tasks"), ['svc_tasks{state="ready"} 5']);
  deepEqual(samples(lines, "svc_process_cpu_seconds_total"), ["svc_process_cpu_seconds_total 5"]);
});
