/**
 * A program that runs a shell line many times, several at once, and prints the times. Arguments:
 * how many at once, how many, the line, the working directory, bytes of standard input, and a
 * program to start the shell with, such as `setsid`. It reads the output of the line as svc would.
 *
 * @module
 */

const [atOnce = 1, spawns = 1, inputBytes = 0] = [0, 1, 4].map((at) => Number(Deno.args[at]));
const [line = ":", cwd = "/", , starter = ""] = Deno.args.slice(2);
const input = new Uint8Array(inputBytes);
const timesMs: number[] = [];

async function one(): Promise<void> {
  const start = performance.now();
  const [command = "", ...args] = [starter, "/bin/sh", "-c", line].filter((part) => part !== "");
  const child = new Deno.Command(command, {
    args,
    cwd,
    clearEnv: true,
    env: { PATH: "/usr/bin:/bin" },
    stdin: inputBytes === 0 ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const output = child.output();
  if (inputBytes > 0) {
    const writer = child.stdin.getWriter();
    await writer.write(input).catch(() => {});
    await writer.close().catch(() => {});
  }
  await output;
  timesMs.push(performance.now() - start);
}

async function some(): Promise<void> {
  while (left-- > 0) await one();
}

let left = 20; // to warm up
await some();
timesMs.length = 0;
left = spawns;
const start = performance.now();
await Promise.all(Array.from({ length: atOnce }, some));
console.log(JSON.stringify({ perSecond: spawns / ((performance.now() - start) / 1000), timesMs }));
