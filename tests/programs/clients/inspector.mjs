// The command line of the MCP inspector. Each method is a run of its own, with a connection of its own.
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ownHome, scratchFolder } from '../../launch.mjs';
import { plan, play } from './checks.mjs';

const INSPECTOR = 'node_modules/.bin/mcp-inspector';
const RUN_WITHIN_MS = 60_000;
const config = writeConfig(plan.target);
const env = { ...process.env, ...ownHome() };

await play(async () => ({
  tools: async () => (await inspect('tools/list')).tools,
  call: (name, args) => inspect('tools/call', '--tool-name', name, ...pairs('--tool-arg', args)),
  resources: async () => (await inspect('resources/list')).resources,
  read: (uri) => inspect('resources/read', '--uri', uri),
  prompts: async () => (await inspect('prompts/list')).prompts,
  prompt: (name, args) => inspect('prompts/get', '--prompt-name', name, ...pairs('--prompt-args', args)),
  close: async () => {},
}));

async function inspect(method, ...options) {
  const args = ['--cli', '--config', config, '--server', 'toolgate', '--method', method, ...options];
  const run = promisify(execFile)(INSPECTOR, args, { env, timeout: RUN_WITHIN_MS });
  return JSON.parse((await run).stdout);
}

// Arguments of the gateway would be taken for the inspector's own, so it gets its target from a file.
function writeConfig({ url, ...stdio }) {
  const path = join(scratchFolder(), 'mcp.json');
  const server = url ? { type: 'streamable-http', url } : { type: 'stdio', ...stdio };
  writeFileSync(path, JSON.stringify({ mcpServers: { toolgate: server } }));
  return path;
}

function pairs(flag, values) {
  return Object.entries(values ?? {}).flatMap(([name, value]) => [flag, `${name}=${written(value)}`]);
}

/** A value as the inspector reads it: text as it is, everything else as JSON. */
function written(value) {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
