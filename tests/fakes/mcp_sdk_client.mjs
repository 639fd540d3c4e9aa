// The client of the Model Context Protocol's own SDK: starts the server of its second argument, and does
// what lines of standard input say, {"list": true} or {"call": {…}}. The first argument is the folder of
// the SDK.
import { createRequire } from "node:module";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";

const [folder, server] = process.argv.slice(2);
const require = createRequire(join(folder, "package.json"));
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");

const client = new Client({ name: "test", version: "1" });
await client.connect(new StdioClientTransport(JSON.parse(server)));
for await (const line of createInterface({ input: process.stdin })) {
  const { call } = JSON.parse(line);
  const answer = await (call === undefined ? client.listTools() : client.callTool(call))
    .catch((error) => ({ error: error.message }));
  console.log(JSON.stringify(answer));
}
await client.close();
