// The real servers, legacy and modern, over stdio, Streamable HTTP and HTTP+SSE, and what can be asked of them.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { Program, scratchFolder } from '../launch.mjs';

const REPOSITORY = resolve(import.meta.dirname, '../..');
const NODE = 'node_modules/.bin/node';
const PYTHON = '.venv-2/bin/python';
const script = (name) => `node_modules/@modelcontextprotocol/server-${name}/dist/index.js`;
const GREETING = 'hello from a file';
const COMMIT = 'The first commit';

/** Starts the servers that must listen. Returns the targets for the gateway, further arguments for it, and the plan for the clients. */
export async function startServers(root) {
  const folder = scratchFolder();
  const file = join(folder, 'hello.txt');
  writeFileSync(file, GREETING);
  const repository = makeRepository(folder);

  const servers = {
    everything: `${NODE} ${script('everything')} stdio`,
    'everything-http': `http://127.0.0.1:${await startEverything(root, 'streamableHttp')}/mcp`,
    'everything-sse': `http://127.0.0.1:${await startEverything(root, 'sse')}/sse`,
    filesystem: `${NODE} ${script('filesystem')} ${folder}`,
    memory: `env MEMORY_FILE_PATH=${join(folder, 'memory.jsonl')} ${NODE} ${script('memory')}`,
    time: `${PYTHON} -m mcp_server_time --local-timezone UTC`,
    git: `${PYTHON} -m mcp_server_git --repository ${repository}`,
  };
  const echo = (server) => ({ name: `${server}__echo`, arguments: { message: 'hello' }, expect: 'Echo: hello' });
  const plan = {
    tools: [
      echo('everything'),
      echo('everything-http'),
      echo('everything-sse'),
      { name: 'filesystem__read_text_file', arguments: { path: file }, expect: GREETING },
      { name: 'memory__search_nodes', arguments: { query: 'nothing' }, expect: 'entities' },
      { name: 'shop__list_articles', arguments: { category: 'kitchen' }, expect: 'MUG-01' },
      { name: 'bindings__exchange_rate', arguments: { base: 'EUR', target: 'USD' }, expect: '1.0842' },
      { name: 'git__git_log', arguments: { repo_path: repository }, expect: COMMIT },
      { name: 'time__get_current_time', arguments: { timezone: 'UTC' }, expect: 'UTC' },
    ],
    // The three `everything` servers offer the same resources, so these get the name of their server before the URI.
    resources: [
      { uri: 'memory://knowledge-graph', expect: 'memory://knowledge-graph' },
      { uri: 'everything-sse+demo://resource/static/document/features.md', expect: 'Features' },
    ],
    prompts: [
      { name: 'everything-http__simple-prompt', arguments: {}, expect: 'prompt without arguments' },
      { name: 'everything__args-prompt', arguments: { city: 'Paris' }, expect: 'Paris' },
    ],
    business: businessPlan(),
  };
  // Some clients read one page of a list only, so that all tools must be on the first.
  const fewer = ['--set', 'servers.everything-sse.allowed_tools=echo'];
  return { servers, more: [...fewer, ...(await businessExample(folder))], plan };
}

/** The example project, as its own configuration says; but its web service has a free port. */
async function businessExample(folder) {
  const example = join(REPOSITORY, 'examples/business');
  const service = new Program('python3', [join(example, 'rates.py'), '0']);
  const [, port] = await service.line(/rates at .*:(\d+)/);
  const skills = join(folder, 'skills');
  cpSync(join(example, 'skills'), skills, { recursive: true });
  const skill = join(skills, 'finance/exchange-rates/SKILL.md');
  writeFileSync(skill, readFileSync(skill, 'utf8').replace('127.0.0.1:8790', `127.0.0.1:${port}`));
  const local = join(folder, 'local.yaml');
  writeFileSync(local, `skills: {dir: ${skills}}\negress: {private: ["127.0.0.1:${port}"]}\n`);
  const set = (key, value) => ['--set', `handlers.shop.${key}=${value}`];
  return [
    ...['--config', join(example, 'toolgate.yaml'), '--config', local],
    ...set('python', join(REPOSITORY, 'python/.venv/bin/python')),
    ...set('env.SHOP_DATABASE', join(folder, 'shop.db')),
  ];
}

/**
 * All that the example project has, for the SDKs that people write clients with. Many clients share its database, so each
 * brings what it takes, and order 1 is there as soon as one of them has ordered.
 */
function businessPlan() {
  const lines = [{ sku: 'TEE-L', quantity: 1 }];
  const address = { street: 'Rue 1', city: 'Paris', postcode: '75001' };
  const tool = (name, args, expect) => ({ name, arguments: args, expect });
  const skill = (path, expect) => ({ uri: `skill://${path}/SKILL.md`, expect });
  return {
    tools: [
      tool('shop__restock', { deliveries: { 'TEE-L': 3 } }, 'TEE-L'),
      tool('shop__place_order', { customer: 'Ada', lines, note: 'ring twice' }, 'ring twice'),
      tool('shop__reserve', { sku: 'TEE-L' }, 'result'),
      tool('shop__get_order', { order_id: 1 }, 'TEE-L'),
      tool('shop__find_orders', { customer: 'Ad', since: '2020-01-01', sort: 'oldest', limit: 1 }, 'Ada'),
      tool('shop__set_status', { order_id: 1, status: 'paid' }, 'paid'),
      tool('shop__revenue', { first: '2020-01-01', last: '2999-12-31' }, '19'),
      tool('shop__quote_shipping', { to: address, weight_kg: '1.5' }, 'swift'),
      tool('shop__take_stock', { counts: [['MUG-02', 4]] }, 'MUG-02'),
      tool('shop__stock_chart', { width: 20 }, 'image/png'),
      tool('skills__find_skills', { query: 'place an order' }, 'skill://orders/place-an-order/SKILL.md'),
      tool('skills__read_skill', { uri: 'skill://orders/returns' }, 'skill://orders/returns/return-form.md'),
    ],
    // Cancelling asks a person, whom these clients do not have.
    refused: [
      tool('shop__cancel_order', { order_id: 1 }, 'cannot ask'),
      tool('shop__get_order', { order_id: 999999 }, 'there is no order'),
    ],
    described: [{ name: 'shop__place_order', expect: 'skill://orders/place-an-order' }],
    resources: [
      skill('finance/exchange-rates', 'exchange_rate'),
      skill('inventory/restocking', 'restocking'),
      skill('inventory/stock-take', 'stock-take'),
      skill('orders/place-an-order', 'place-an-order'),
      skill('orders/returns', 'returns'),
    ],
  };
}

async function startEverything(root, transport) {
  const port = await freePort();
  const program = new Program(NODE, [script('everything'), transport], { cwd: root, env: { PORT: String(port) } });
  await program.line(/on port \d+/);
  return port;
}

// These servers cannot choose a port themselves and say which.
function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

function makeRepository(folder) {
  const repository = join(folder, 'repository');
  mkdirSync(repository);
  const git = (...args) => execFileSync('git', ['-C', repository, ...args], { stdio: 'ignore' });
  git('init');
  git('-c', 'user.name=Test', '-c', 'user.email=test@example.com', 'commit', '--allow-empty', '-m', COMMIT);
  return repository;
}
