// Starts programs for the tests from outside and ends them again, whatever happens to the test itself.
//
// Every program gets a process group of its own. When the test ends, also by an error or a signal, the groups that are
// still there are killed: nothing that was started here outlives the run.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const READY_WITHIN_MS = 30_000;
const STOP_WITHIN_MS = 10_000;
const TAIL_LINES = 30;

const running = new Set();
const scratchFolders = new Set();

process.on('exit', () => {
  for (const program of running) program.kill();
  for (const folder of scratchFolders) rmSync(folder, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1));

/** A folder that is removed when the test ends. */
export function scratchFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'toolgate-test-'));
  scratchFolders.add(folder);
  return folder;
}

/** Environment variables that keep what a program remembers out of the user's home. */
export function ownHome() {
  const home = scratchFolder();
  return {
    HOME: home,
    XDG_CACHE_HOME: join(home, 'cache'),
    XDG_CONFIG_HOME: join(home, 'config'),
    XDG_DATA_HOME: join(home, 'data'),
    XDG_STATE_HOME: join(home, 'state'),
  };
}

/** A program that was started and will be ended. */
export class Program {
  #child;
  #tail = [];
  #ended;
  #onLine;

  constructor(command, args, { cwd, env } = {}) {
    this.name = [command, ...args].join(' ');
    this.#child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.add(this);
    this.#ended = new Promise((resolve) => {
      this.#child.on('error', (error) => resolve(`could not start: ${error.message}`));
      this.#child.on('exit', (code, signal) => resolve(`ended with ${signal ?? `code ${code}`}`));
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => this.#remember(line));
    }
  }

  /** The newest lines the program wrote. */
  get tail() {
    return this.#tail.join('\n');
  }

  /** Waits for the line in which the program says where it listens, and returns that address. */
  async address() {
    const [, address] = await this.line(/"listening":\s*"([^"]+)"/);
    return address;
  }

  /** Waits for a line that matches, and returns the match. A program that ends or says nothing in time is an error. */
  async line(pattern) {
    const found = new Promise((resolve) => {
      this.#onLine = (line) => {
        const match = line.match(pattern);
        if (match) resolve({ match });
      };
      this.#tail.forEach(this.#onLine);
    });
    const { match, problem } = await Promise.race([
      found,
      this.#ended.then((problem) => ({ problem })),
      after(READY_WITHIN_MS).then(() => ({ problem: `was not ready within ${READY_WITHIN_MS} ms` })),
    ]);
    this.#onLine = undefined;
    if (match) return match;
    await this.stop();
    throw new Error(`${this.name}: ${problem}\n${this.tail}`);
  }

  /** Asks the program to end, and kills its group when it does not. */
  async stop() {
    if (!running.has(this)) return;
    this.#child.kill('SIGTERM');
    await Promise.race([this.#ended, after(STOP_WITHIN_MS)]);
    this.kill();
  }

  /** Kills the whole group of the program. */
  kill() {
    running.delete(this);
    try {
      process.kill(-this.#child.pid, 'SIGKILL');
    } catch {
      // The group is gone already.
    }
  }

  #remember(line) {
    this.#tail.push(line);
    if (this.#tail.length > TAIL_LINES) this.#tail.shift();
    this.#onLine?.(line);
  }
}

/** Starts the gateway over HTTP on a free port. `servers` maps a name to an address or a command. */
export async function startGateway(toolgate, servers, { names = 'plain', more = [], cwd } = {}) {
  const args = ['start', '--transport', 'http', '--port', '0', '--names', names, ...more];
  for (const [name, target] of Object.entries(servers)) args.push('--server', `${name}=${target}`);
  const home = ownHome();
  const program = new Program(toolgate, args, { cwd, env: home });
  return { program, home, url: await program.address() };
}

/** Runs the jobs, two at a time since two is what a small machine has, and returns their results in order. */
export async function inPairs(jobs) {
  const results = new Array(jobs.length);
  const queue = jobs.entries();
  const worker = async () => {
    for (const [index, job] of queue) results[index] = await job();
  };
  await Promise.all([worker(), worker()]);
  return results;
}

function after(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds).unref());
}
