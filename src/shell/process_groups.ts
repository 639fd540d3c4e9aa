/**
 * Signals to whole process groups. Deno can signal a group only with unrestricted `--allow-run`, and
 * a shell per signal costs a spawn, so one idle `/bin/sh` answers on its standard input: `kill` is
 * built into it. Also finds processes that left their group, by a mark in their environment.
 *
 * @module
 */

import { pause } from "../base/clock.ts";

/** Ends and watches process groups. */
export interface ProcessGroups extends AsyncDisposable {
  /** Whether any process of the group is left. */
  alive(group: number): Promise<boolean>;
  /** TERM, then KILL after `graceMs`; resolves when nobody of the group is left. */
  end(group: number, graceMs: number): Promise<void>;
  /**
   * Kills every process whose environment holds `NAME=value`, in whatever group or session it is;
   * does nothing where the system has no `/proc`. The value must be an identifier of ours.
   */
  endMarked(name: string, value: string): Promise<void>;
}

/**
 * Answers one line per line. `living`: whether anybody of a group is more than a zombie, which waits
 * for process 1 and can do nothing; where there is no `/proc`, whether there is anybody at all.
 */
const SERVER = `
while read -r op a b; do
  found=no
  case "$op" in
    signal) kill -s "$a" -- "-$b" 2>/dev/null && found=yes ;;
    living)
      if [ -r /proc/self/stat ]; then
        for file in /proc/[0-9]*/stat; do
          line=
          read -r line 2>/dev/null < "$file" || continue
          set -- \${line##*) }
          [ "$3" = "$a" ] && [ "$1" != Z ] && found=yes && break
        done
      else
        kill -s 0 -- "-$a" 2>/dev/null && found=yes
      fi ;;
    marked)
      for file in $(grep -lzxF -- "$a" /proc/[0-9]*/environ 2>/dev/null); do
        pid=\${file#/proc/}; pid=\${pid%/environ}
        kill -s KILL -- "$pid" 2>/dev/null && found=yes
      done ;;
  esac
  echo "$found"
done`;

/** How long a killed process may take to be gone; the kernel needs this only under heavy load. */
const GONE_WITHIN_MS = 5000;

/** One shell that answers. */
interface Server {
  readonly ask: (line: string) => Promise<boolean>;
  readonly close: () => Promise<void>;
}

function startServer(): Server {
  const child = new Deno.Command("/bin/sh", {
    args: ["-c", SERVER],
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
    clearEnv: true,
    env: { PATH: "/usr/local/bin:/usr/bin:/bin" },
    detached: true, // a Ctrl-C at the terminal is for the daemon, which still needs this to end steps
  }).spawn();
  const writer = child.stdin.getWriter();
  const answers = lines(child.stdout);
  return {
    async ask(line) {
      await writer.write(new TextEncoder().encode(`${line}\n`));
      const { value, done } = await answers.next();
      if (done === true) throw new Error("The shell that signals processes has ended");
      return value === "yes";
    },
    async close() {
      await writer.close().catch(() => {});
      for await (const _ of answers); // to the end, so that nothing of it stays open
      await child.status;
    },
  };
}

/** Starts the shell that answers, and another one should that be killed. */
export function openProcessGroups(): ProcessGroups {
  let server = startServer();
  let tail: Promise<unknown> = Promise.resolve();

  const askOnce = async (line: string): Promise<boolean> => {
    try {
      return await server.ask(line);
    } catch { // a step that does `killall sh` kills it as well
      await server.close().catch(() => {});
      server = startServer();
      return await server.ask(line);
    }
  };

  /** One question at a time: answers carry no name. */
  const ask = (line: string): Promise<boolean> => {
    const answer = tail.then(() => askOnce(line));
    tail = answer.catch(() => {});
    return answer;
  };

  const alive = async (group: number) =>
    await ask(`signal 0 ${group}`) && await ask(`living ${group}`);

  const gone = async (group: number, withinMs: number): Promise<boolean> => {
    for (
      let waited = 0, step = 2;
      waited <= withinMs;
      waited += step, step = Math.min(step * 2, 50)
    ) {
      if (!await alive(group)) return true;
      await pause(step);
    }
    return false;
  };

  return {
    alive,
    async end(group, graceMs) {
      if (!await ask(`signal TERM ${group}`)) return;
      await ask(`signal CONT ${group}`);
      if (await gone(group, graceMs)) return;
      await ask(`signal KILL ${group}`);
      await gone(group, GONE_WITHIN_MS);
    },
    async endMarked(name, value) {
      // Killing can race with forking: look again until nobody is found.
      for (let round = 0; round < 10 && await ask(`marked ${name}=${value}`); round++) {
        await pause(5);
      }
    },
    async [Symbol.asyncDispose]() {
      await tail;
      await server.close();
    },
  };
}

async function* lines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, void, undefined> {
  let rest = "";
  for await (const chunk of stream.pipeThrough(new TextDecoderStream() as never)) {
    const parts = (rest + String(chunk)).split("\n");
    rest = parts.pop() ?? "";
    yield* parts;
  }
}
