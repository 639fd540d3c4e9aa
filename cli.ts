/**
 * The `svc` executable: every command, the daemon included.
 *
 * @module
 */

import { terminal } from "./src/cli/io.ts";
import { runCli } from "./src/cli/run.ts";

Deno.exitCode = await runCli(Deno.args, terminal());
