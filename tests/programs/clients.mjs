// The clients, the ways in which each can reach the gateway, and how one is run.
import { spawn } from 'node:child_process';

const NODE = 'node_modules/.bin/node';
const RUN_WITHIN_MS = 180_000;

const way = (front, era) => ({ front, era });
const BOTH_ERAS = ['http', 'stdio'].flatMap((front) => [way(front, 'legacy'), way(front, 'modern')]);
const LEGACY = ['http', 'sse', 'stdio'].map((front) => way(front, 'legacy'));

export const CLIENTS = [
  { name: 'python-2', command: ['.venv-2/bin/python', 'clients/python-2.py'], ways: BOTH_ERAS },
  { name: 'python-1', command: ['.venv-1/bin/python', 'clients/python-1.py'], ways: LEGACY },
  { name: 'typescript-2', command: [NODE, 'clients/typescript-2.mjs'], ways: BOTH_ERAS },
  { name: 'typescript-1', command: [NODE, 'clients/typescript-1.mjs'], ways: LEGACY },
  { name: 'rmcp', command: ['clients/rmcp/target/debug/rmcp-client'], ways: BOTH_ERAS },
  {
    name: 'inspector',
    command: [NODE, 'clients/inspector.mjs'],
    ways: [way('http', 'legacy'), way('stdio', 'legacy')],
    // Over stdio each of its runs starts every server anew, so it plays a short plan there.
    shorten: (plan) => ({ ...plan, tools: plan.tools.slice(-1), resources: [], prompts: [] }),
  },
];

/** Runs a client with its plan. Returns the checks it reported; a client that broke off adds one that failed. */
export function runClient(root, { command: [program, ...args], shorten }, plan) {
  const ownPlan = shorten && plan.target.command ? shorten(plan) : plan;
  return new Promise((resolve) => {
    const child = spawn(program, [...args, JSON.stringify(ownPlan)], { cwd: root, timeout: RUN_WITHIN_MS });
    let output = '';
    let complaints = '';
    child.stdout.on('data', (data) => (output += data));
    child.stderr.on('data', (data) => (complaints += data));
    child.on('error', (error) => resolve([{ name: 'start', ok: false, detail: error.message }]));
    child.on('close', (code, signal) => {
      const results = output
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line));
      if (code !== 0 || results.at(-1)?.name !== 'close') {
        const detail = `ended with ${signal ?? `code ${code}`}: ${complaints.trim().split('\n').slice(-8).join(' | ')}`;
        results.push({ name: 'play to the end', ok: false, detail });
      }
      resolve(results);
    });
  });
}
