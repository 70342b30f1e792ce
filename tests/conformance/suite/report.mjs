// What a run prints: one row for each cell, what was lost below it, and the closing line.

// One loss often makes the same complaint many times.
const COMPLAINTS_SHOWN = 3;

/** Prints the rows and returns the exit code. */
export function report(rows) {
  const width = Math.max(...rows.map((row) => row.cell.length));
  console.log(`${'cell'.padEnd(width)}   reached  expected to fail  seconds`);
  for (const { cell, total, unexpected, expected, seconds, problem } of rows) {
    const reached = problem ? 'FAILED' : `${total - unexpected.length - expected.length}/${total}`;
    const numbers = [reached.padStart(7), String(expected.length).padStart(16), seconds.toFixed(1).padStart(7)];
    console.log(`${cell.padEnd(width)}   ${numbers.join('  ')}`);
    if (problem) console.log(indent(problem, 4));
    for (const { scenario, detail, complaints } of unexpected) {
      console.log(`    lost ${scenario}: ${detail}`);
      for (const complaint of complaints.slice(0, COMPLAINTS_SHOWN)) console.log(indent(complaint, 9));
    }
  }
  const failed = rows.reduce((sum, row) => sum + row.unexpected.length + (row.problem ? 1 : 0), 0);
  const passed = rows.reduce((sum, row) => sum + row.total - row.unexpected.length - row.expected.length, 0);
  console.log(`${passed} passed, ${failed} failed`);
  return failed === 0 && passed > 0 ? 0 : 1;
}

function indent(text, columns) {
  return text.replace(/^/gm, ' '.repeat(columns));
}
