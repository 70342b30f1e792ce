// Finds processes that outlived the program that should have ended them, by the home folder they were given.
import { readFileSync, readdirSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

const GONE_WITHIN_MS = 8_000;
const LOOK_EVERY_MS = 100;

/** Waits until no process has `home` as its home; kills those that stay and returns what they were. */
export async function leftBehind(home) {
  const deadline = Date.now() + GONE_WITHIN_MS;
  let living = processesWithHome(home);
  while (living.length > 0 && Date.now() < deadline) {
    await pause(LOOK_EVERY_MS);
    living = processesWithHome(home);
  }
  for (const { pid } of living) process.kill(pid, 'SIGKILL');
  return living.map(({ pid, command }) => `${pid} ${command}`);
}

function processesWithHome(home) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => read(`/proc/${pid}/environ`).split('\0').includes(`HOME=${home}`))
    .map((pid) => ({ pid: Number(pid), command: read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim() }));
}

// A process may end between listing and reading, and those of other users cannot be read.
function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
