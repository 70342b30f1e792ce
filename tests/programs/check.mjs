// Real programs through the gateway: every client lists and calls a tool of every server, reads a resource, gets a prompt.
// Then another one reads what the ledger exports of all that.
//
//   node check.mjs --toolgate BIN [--only REGEX]
//
// Prints one line for each check and `N passed, M failed` at the end.
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { inPairs, ownHome, startGateway } from '../launch.mjs';
import { CLIENTS, runClient } from './clients.mjs';
import { checkExports } from './exports.mjs';
import { leftBehind } from './left-behind.mjs';
import { startServers } from './servers.mjs';

const ROOT = import.meta.dirname;
const { values } = parseArgs({ options: { toolgate: { type: 'string' }, only: { type: 'string', default: '' } } });
if (!values.toolgate) {
  console.error('usage: check.mjs --toolgate BIN [--only REGEX]');
  process.exit(2);
}
const toolgate = resolve(values.toolgate);

const { servers, more, plan } = await startServers(ROOT);
const gateway = await startGateway(toolgate, servers, { names: 'prefixed', more, cwd: ROOT });
const pairs = CLIENTS.flatMap((client) => client.ways.map((way) => ({ client, ...way, title: title(client, way) })));
const chosen = pairs.filter((pair) => new RegExp(values.only).test(pair.title));
const results = (await inPairs(chosen.map((pair) => () => checkPair(pair)))).flat();
await gateway.program.stop();
if (new RegExp(values.only).test('pyarrow')) results.push(told('pyarrow', checkExports(ROOT, toolgate, gateway.home)));

const failed = results.filter((result) => !result.ok);
if (failed.length > 0) console.log(`--- the gateway's last lines\n${gateway.program.tail}`);
console.log(`${results.length - failed.length} passed, ${failed.length} failed`);
process.exit(failed.length === 0 && results.length > 0 ? 0 : 1);

function title(client, { front, era }) {
  return `${client.name} ${front} ${era}`;
}

async function checkPair({ client, front, era, title }) {
  const home = ownHome();
  const target = front === 'stdio' ? stdioFront(home) : httpFront(front);
  const results = await runClient(ROOT, client, { ...plan, era, target });
  if (front === 'stdio') {
    const left = await leftBehind(home.HOME);
    results.push({ name: 'leave no process behind', ok: left.length === 0, detail: left.join('; ') });
  }
  return results.map((result) => told(title, result));
}

/** Prints what came of a check, and returns it. */
function told(title, result) {
  const { name, ok, detail } = result;
  console.log(`${ok ? 'ok  ' : 'FAIL'} ${title}: ${name}${ok ? '' : ` (${detail})`}`);
  return result;
}

function httpFront(front) {
  return front === 'sse' ? { sse: `${gateway.url}/sse` } : { url: gateway.url };
}

function stdioFront(home) {
  const args = ['start', '--transport', 'stdio', '--names', 'prefixed', ...more];
  for (const [name, target] of Object.entries(servers)) args.push('--server', `${name}=${target}`);
  return { command: toolgate, args, env: { ...home, PATH: process.env.PATH } };
}
