/**
 * The time that an interceptor and a transformer add to a request, compared with the bare run of
 * the same script: the policy, the audit row before and after, the file with the body, in memory if
 * there is such a place. Also the time of each `svc tool …` that a script calls.
 *
 * @module
 */

import { findSetsid } from "../../../src/shell/process_groups.ts";
import type { TestDaemon } from "../../../tests/helpers/daemon.ts";
import type { Manifest } from "../../../tests/helpers/manifests.ts";
import { tempDir } from "../../../tests/helpers/temp_dir.ts";
import { compare, type RoundFigure, type Subject, subjectOf } from "../compare.ts";
import { checked } from "../load.ts";
import { ownLoad } from "../load_generator.ts";
import { findMemory, openInMemory } from "../memory_directory.ts";
import { costOf, type ProcessorTime, whole } from "../processor_time.ts";
import type { Scenario } from "../scenario.ts";
import { benchTrigger, BODY, requestTo, startBusySite } from "../site.ts";
import { measureSpawns } from "../spawns.ts";
import { median } from "../stats.ts";

/** Number of calls of `svc` by the script. */
const CALLS = 5;
const KINDS = ["interceptor", "transformer"] as const;
const SCRIPTS = {
  interceptor: "#!/bin/sh\nexit 0\n",
  transformer: `#!/bin/sh\necho '{"ref":"refs/heads/main"}'\n`,
  caller: `#!/bin/sh
for _ in ${Array.from({ length: CALLS }, (_, n) => n + 1).join(" ")}; do
  svc tool payload-extract --path a.b >/dev/null <<'END' || exit 1
{"a":{"b":"c"}}
END
done
`,
} as const;
type Script = keyof typeof SCRIPTS;
const MEASUREMENTS = ["plain", "interceptor", "transformer", "caller"] as const;
type Measurement = typeof MEASUREMENTS[number];

/** The values of requests or runs, one after the other. */
interface Timed {
  /** Milliseconds of each. */
  readonly ms: number;
  /** Processor time of each request with its children; absent for bare runs. */
  readonly cost?: ProcessorTime;
}

export const plugins: Scenario = {
  name: "plugins",
  title: "interceptors and transformers, against bare runs of their scripts",
  run(context) {
    const memory = findMemory(context);
    return compare<Measurement, Timed>(context, {
      measurements: MEASUREMENTS,
      async open(program) {
        await using opening = new AsyncDisposableStack();
        const place = memory === undefined ? {} : opening.use(await openInMemory(program, memory));
        const daemon = opening.use(await startBusySite(program, place));
        const timed = (trigger: string) => () =>
          costOf(daemon.pid, async () => {
            const shape = { connections: 1, seconds: context.seconds };
            const result = await ownLoad(requestTo(daemon.url, trigger), shape);
            const { answers, perSecond } = checked(result, "accepted");
            return { ms: 1000 / perSecond, answers };
          }, ({ answers }) => answers);
        const measurements = {
          plain: timed("accept"),
          interceptor: timed("interceptor"),
          transformer: timed("transformer"),
          caller: timed("caller"),
        };
        await install(daemon);
        await measurements.plain(); // to warm up
        return subjectOf(opening.move(), measurements);
      },
      beside: { bare: () => bareRuns(context.size === "quick" ? 50 : 250) },
      figures: (own, { bare }) => [
        { name: "plain request, 1 connection", unit: "ms", value: own.plain.ms },
        ...KINDS.flatMap((kind): RoundFigure[] => {
          const added = own[kind].ms - own.plain.ms;
          const run = bare?.[kind]?.ms ?? NaN;
          return [
            { name: `bare run of the ${kind}`, unit: "ms", value: run, shared: true },
            { name: `added by the ${kind}`, unit: "ms", value: added },
            {
              name: `${kind} ÷ bare run`,
              unit: "×",
              value: added / run,
              target: { atMost: kind === "interceptor" ? 1.2 : 1.4 },
            },
            {
              name: `${kind}, processor time`,
              unit: "µs",
              value: whole(own[kind].cost) - whole(own.plain.cost),
            },
          ];
        }),
        {
          name: "svc tool in a script, a call",
          unit: "ms",
          value: (own.caller.ms - own.interceptor.ms) / CALLS,
          target: { atMost: 5 },
        },
        {
          name: "its processor time",
          unit: "µs",
          value: (whole(own.caller.cost) - whole(own.interceptor.cost)) / CALLS,
        },
      ],
    });
  },
};

/**
 * The bare runs of the script, with the body on its standard input. It runs in its own process
 * group, as a timeout needs it to end the script.
 */
async function bareRuns(spawns: number): Promise<Subject<Measurement, Timed>> {
  const dir = await tempDir();
  const starter = findSetsid() ?? "";
  const run = async (kind: Script) => {
    await writeScript(dir.path, kind);
    const more = { cwd: dir.path, inputBytes: BODY.length, starter };
    const { timesMs } = await measureSpawns({ ...more, line: `./${kind}.sh`, atOnce: 1, spawns });
    return { ms: median(timesMs) };
  };
  return subjectOf(dir, {
    interceptor: () => run("interceptor"),
    transformer: () => run("transformer"),
  });
}

async function writeScript(directory: string, name: Script): Promise<void> {
  await Deno.writeTextFile(`${directory}/${name}.sh`, SCRIPTS[name], { mode: 0o700 });
}

async function install(daemon: TestDaemon): Promise<void> {
  await Deno.writeTextFile(
    `${daemon.dataDir}/plugin-policy.yaml`,
    "mode: allowlist\nallowed_command_prefixes: [scripts/]\n",
  );
  for (const name of [...KINDS, "caller"] as const) {
    await writeScript(`${daemon.dataDir}/scripts`, name);
  }
  await daemon.apply(
    crd("interceptor"),
    crd("caller"),
    crd("transformer"),
    benchTrigger("interceptor", { webhook: { crdRef: "Interceptor" } }),
    benchTrigger("caller", { webhook: { crdRef: "Caller" } }),
    benchTrigger("transformer", {
      webhook: {
        secret: { fromRef: "signing" },
        signatureHeader: "X-Webhook-Signature",
        crdRef: "Transformer",
      },
    }),
  );
}

function crd(name: Script): Manifest {
  const kind = `${name[0]?.toUpperCase()}${name.slice(1)}`;
  const [type, phase] = name === "transformer"
    ? ["transformer", "webhook.transform"]
    : ["interceptor", "webhook.authenticate"];
  return {
    kind: "CustomResourceDefinition",
    metadata: { name: `${name}s.bench.example` },
    spec: {
      kind,
      plural: `${name}s`,
      group: "bench.example",
      versions: [{ name: "v1", schema: { type: "object" } }],
      plugins: [{ name: "run", type, phase, command: `scripts/${name}.sh`, timeout: 5 }],
    },
  };
}
