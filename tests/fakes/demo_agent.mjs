// A stand-in of a coding agent, in the demo of agents: it asks its model, does whatever that says, and
// prints events as Claude Code does. It needs no package, and runs in Node and in Deno.
import { spawnSync } from "node:child_process";
import { connect } from "node:net";
import process from "node:process";

const { ANTHROPIC_BASE_URL: api, ANTHROPIC_API_KEY: key, HTTPS_PROXY: proxy } = process.env;
const say = (event) => console.log(JSON.stringify(event));

const tools = {
  Bash({ command }) {
    const { stdout, stderr } = spawnSync("/bin/sh", ["-c", command], { encoding: "utf8" });
    return `${stdout}${stderr}`.slice(0, 500);
  },
  Fetch({ url }) {
    const { hostname, port } = new URL(proxy);
    const host = `${new URL(url).hostname}:443`;
    return new Promise((resolve) => {
      const socket = connect(Number(port), hostname, () => {
        socket.write(`CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      });
      socket.once("data", (head) => {
        socket.destroy();
        resolve(String(head).split("\r\n")[0]);
      });
      socket.once("error", (error) => resolve(error.message));
    });
  },
};

let prompt = "";
for await (const part of process.stdin) prompt += part;
const messages = [{ role: "user", content: prompt }];
say({ type: "system", subtype: "init", session_id: "demo" });
for (let results = []; results !== undefined;) {
  const answer = await fetch(`${api}/v1/messages`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": key },
    body: JSON.stringify({ model: "stand-in", messages }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`the model answered ${answer.status}: ${text}`);
  const { content } = JSON.parse(text);
  say({ type: "assistant", message: { content } });
  const calls = content.filter(({ type }) => type === "tool_use");
  results = [];
  for (const { id, name, input } of calls) {
    results.push({ type: "tool_result", tool_use_id: id, content: await tools[name](input) });
  }
  messages.push({ role: "assistant", content }, { role: "user", content: results });
  if (calls.length > 0) continue;
  say({ type: "result", is_error: false, result: content.map(({ text }) => text).join("\n") });
  results = undefined;
}
