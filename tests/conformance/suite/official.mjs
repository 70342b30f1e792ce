// Runs the official suite as a program and reads what it found.
import { spawn } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { scratchFolder } from '../../launch.mjs';

const STABLE = 'node_modules/conformance-stable/dist/index.js';
const ALPHA = 'node_modules/conformance-alpha/dist/index.js';
const NODE = 'node_modules/.bin/node';
const RUN_WITHIN_MS = 300_000;

/** The sets of scenarios for a server; `required` is how many of them a revision demands. */
export const SUITES = {
  r1125: { program: ALPHA, args: ['--requirements', '2025-11-25'], revision: '2025-11-25', required: 30 },
  r0728: { program: ALPHA, args: ['--requirements', '2026-07-28'], revision: '2026-07-28', required: 37 },
  s16: { program: STABLE, args: ['--suite', 'all'] },
  a0618: { program: ALPHA, args: ['--suite', 'all', '--spec-version', '2025-06-18'] },
};

/** Runs a set of scenarios, or one of them, against a server. Returns a map from scenario to score. */
export async function scoreServer(root, suiteName, url, scenario) {
  const { program, args, revision } = SUITES[suiteName];
  const selection = scenario
    ? ['--scenario', scenario, ...(revision ? ['--spec-version', revision, '--force'] : [])]
    : args;
  const folder = scratchFolder();
  const log = await run(root, [program, 'server', '--url', url, ...selection, '-o', folder]);
  const required = (revision ? requiredScenarios(root, revision) : []).filter((name) => !scenario || name === scenario);
  return collect(folder, log, /^server-/, new Set(required));
}

/** Runs one scenario against a client command. */
export async function scoreClient(root, revision, scenario, command, env) {
  const folder = scratchFolder();
  const args = ['client', '--command', command, '--spec-version', revision, '--scenario', scenario];
  const log = await run(root, [ALPHA, ...args, '--timeout', '60000', '-o', folder], env);
  const score = collect(folder, log, /^$/, new Set()).get(scenario) ?? crashed(false);
  return { ...score, log };
}

function run(root, args, env) {
  return new Promise((resolve, reject) => {
    const child = spawn(NODE, args, { cwd: root, env: { ...process.env, ...env }, timeout: RUN_WITHIN_MS });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data));
    child.on('error', reject);
    child.on('close', () => resolve(output.replace(/\x1b\[[0-9;]*m/g, '')));
  });
}

// A scenario that crashed leaves no checks behind, so the names come from the log as well as from the folders.
function collect(folder, log, prefix, required) {
  const scores = new Map();
  const announced = [
    /^=== Running scenario: (\S+) ===/gm,
    /^Starting scenario: (\S+)/gm,
    /^[✓✗⚠]\s+(\S+): \d+ passed/gm,
  ];
  for (const pattern of announced) {
    for (const [, name] of log.matchAll(pattern)) scores.set(name, crashed(required.has(name)));
  }
  for (const name of required) if (!scores.has(name)) scores.set(name, crashed(true));
  for (const { directory, checks } of findChecks(folder)) {
    const name = directory.replace(/-\d{4}-\d\d-\d\dT[\d-]+Z?$/, '').replace(prefix, '');
    scores.set(name, score(checks, required.has(name)));
  }
  return new Map([...scores].sort(([a], [b]) => a.localeCompare(b)));
}

function* findChecks(folder, below = '') {
  for (const entry of readdirSync(join(folder, below), { withFileTypes: true })) {
    const path = join(below, entry.name);
    if (entry.isDirectory()) yield* findChecks(folder, path);
    else if (entry.name === 'checks.json') {
      yield { directory: below, checks: JSON.parse(readFileSync(join(folder, path), 'utf8')) };
    }
  }
}

/** A scenario counts as reached only if nothing failed, nothing warned, and something real was checked. */
function score(checks, required) {
  const count = (status) => checks.filter((check) => check.status === status).length;
  const real = checks.some((check) => check.status === 'SUCCESS' && !check.id.startsWith('wire-schema'));
  const [passed, failed, warned] = [count('SUCCESS'), count('FAILURE'), count('WARNING')];
  const complaints = checks
    .filter((check) => check.status === 'FAILURE' || check.status === 'WARNING')
    .map((check) => `${check.id}: ${(check.errorMessage ?? '').replace(/\s+/g, ' ').slice(0, 300)}`);
  return { required, passed, failed, warned, strict: failed + warned === 0 && real, complaints };
}

function crashed(required) {
  return { required, passed: 0, failed: 1, warned: 0, strict: false, complaints: ['crashed, or was not run'] };
}

// The file is flat: lists of names under `server:` and `client:`, then what is run but not scored.
function requiredScenarios(root, revision) {
  const names = [];
  let section = '';
  const text = readFileSync(join(root, `node_modules/conformance-alpha/requirements/${revision}.yaml`), 'utf8');
  for (const line of text.split('\n')) {
    section = line.match(/^([a-z_]+):/)?.[1] ?? section;
    const name = line.match(/^\s+-\s+([\w/-]+)\s*$/)?.[1];
    if (name && section === 'server') names.push(name);
  }
  return names;
}
