// What the ledger exports, read by a program that people use.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { scratchFolder } from '../launch.mjs';

/** Exports the ledger of a gateway that has ended as Parquet, and has it compared with its export as JSON Lines. */
export function checkExports(root, toolgate, home) {
  const folder = scratchFolder();
  const options = { env: { ...process.env, ...home }, encoding: 'utf8', stdio: 'pipe' };
  const exported = (format) => {
    const file = join(folder, `ledger.${format}`);
    execFileSync(toolgate, ['ledger', 'export', '--format', format, '--output', file], options);
    return file;
  };
  const name = 'read an export of the ledger';
  try {
    const files = [exported('parquet'), exported('jsonl')];
    execFileSync(join(root, '.venv-reader/bin/python'), [join(root, 'readers/ledger.py'), ...files], options);
    return { name, ok: true };
  } catch (error) {
    return { name, ok: false, detail: error.stderr || error.message };
  }
}
