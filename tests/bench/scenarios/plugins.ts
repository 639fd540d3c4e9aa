/**
 * What an interceptor and a transformer add to a request, against the bare run of the same script:
 * the policy, the audit row before and after, the file with the body.
 *
 * @module
 */

import type { TestDaemon } from "../../helpers/daemon.ts";
import type { Manifest } from "../../helpers/manifests.ts";
import { findSetsid } from "../../../src/shell/setsid.ts";
import { checked } from "../load.ts";
import { ownLoad } from "../load_generator.ts";
import type { Figure, Scenario } from "../scenario.ts";
import { benchTrigger, BODY, requestTo, startBusySite } from "../site.ts";
import { measureSpawns } from "../spawns.ts";
import { median, ratios, run } from "../stats.ts";

const KINDS = ["interceptor", "transformer"] as const;
const SCRIPTS = {
  interceptor: "#!/bin/sh\nexit 0\n",
  transformer: `#!/bin/sh\necho '{"ref":"refs/heads/main"}'\n`,
} as const;

/** Requests through plugins. */
export const plugins: Scenario = {
  name: "plugins",
  title: "interceptors and transformers, against bare runs of their scripts",
  async run({ rounds, seconds, size, program }) {
    await using daemon = await startBusySite(program);
    await install(daemon);
    const spawns = size === "quick" ? 100 : 500;
    const meanMs = async (trigger: string, connections: number) => {
      const result = await ownLoad(requestTo(daemon.url, trigger), { connections, seconds });
      return 1000 / checked(result, "accepted").perSecond;
    };
    const bareMs = async (kind: (typeof KINDS)[number]) =>
      median((await measureSpawns({ ...bare(daemon, kind), atOnce: 1, spawns })).timesMs);
    const found = await run(rounds, {
      plain: () => meanMs("accept", 1),
      interceptor: () => meanMs("interceptor", 1),
      transformer: () => meanMs("transformer", 1),
      bareInterceptor: () => bareMs("interceptor"),
      bareTransformer: () => bareMs("transformer"),
      sixteen: async () => 1000 / await meanMs("interceptor", 16),
      bareSixteen: async () =>
        (await measureSpawns({ ...bare(daemon, "interceptor"), atOnce: 16, spawns: spawns * 4 }))
          .perSecond,
    });
    const added = (times: readonly number[]) =>
      times.map((time, index) => time - (found.plain[index] ?? NaN));
    const bareOf = { interceptor: found.bareInterceptor, transformer: found.bareTransformer };
    return [
      { name: "request without plugin, 1 connection", unit: "ms", samples: found.plain },
      ...KINDS.flatMap((kind): Figure[] => [
        { name: `bare run of the ${kind}'s script`, unit: "ms", samples: bareOf[kind] },
        { name: `added by the ${kind}`, unit: "ms", samples: added(found[kind]) },
        {
          name: `added by the ${kind} ÷ bare run`,
          unit: "×",
          target: { atMost: 1.5 },
          samples: ratios(added(found[kind]), bareOf[kind]),
        },
      ]),
      { name: "bare runs, 16 at once", unit: "/s", samples: found.bareSixteen },
      { name: "requests through an interceptor, 16 at once", unit: "/s", samples: found.sixteen },
      {
        name: "through an interceptor ÷ bare runs, 16 at once",
        unit: "×",
        samples: ratios(found.sixteen, found.bareSixteen),
      },
    ];
  },
};

/**
 * The spawn itself: the script in a process group of its own, without which a timeout could not end
 * it, with the body on its standard input.
 */
function bare(daemon: TestDaemon, kind: (typeof KINDS)[number]) {
  const line = `scripts/${kind}.sh`;
  return { line, cwd: daemon.dataDir, inputBytes: BODY.length, starter: findSetsid() ?? "" };
}

async function install(daemon: TestDaemon): Promise<void> {
  await Deno.writeTextFile(
    `${daemon.dataDir}/plugin-policy.yaml`,
    "mode: allowlist\nallowed_command_prefixes: [scripts/]\n",
  );
  for (const kind of KINDS) {
    const path = `${daemon.dataDir}/scripts/${kind}.sh`;
    await Deno.writeTextFile(path, SCRIPTS[kind], { mode: 0o700 });
  }
  await daemon.apply(
    crd("interceptor", "webhook.authenticate"),
    crd("transformer", "webhook.transform"),
    benchTrigger("interceptor", { webhook: { crdRef: "Interceptor" } }),
    benchTrigger("transformer", {
      webhook: {
        secret: { fromRef: "signing" },
        signatureHeader: "X-Webhook-Signature",
        crdRef: "Transformer",
      },
    }),
  );
}

function crd(type: string, phase: string): Manifest {
  const kind = `${type[0]?.toUpperCase()}${type.slice(1)}`;
  return {
    kind: "CustomResourceDefinition",
    metadata: { name: `${type}s.bench.example` },
    spec: {
      kind,
      plural: `${type}s`,
      group: "bench.example",
      versions: [{ name: "v1", schema: { type: "object" } }],
      plugins: [{ name: "run", type, phase, command: `scripts/${type}.sh`, timeout: 5 }],
    },
  };
}
