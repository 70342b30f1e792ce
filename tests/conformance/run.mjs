// The official conformance suite against the reference upstream, against Toolgate before it, and against Toolgate as client.
//
//   node run.mjs direct
//   node run.mjs gateway --toolgate BIN [--only REGEX] [--scenario NAME]
//   node run.mjs client  --toolgate BIN [--only REGEX]
//
// The gate is always the comparison with a direct run of the same scenarios: the gateway may lose nothing. In the cells
// where upstream and suite are of different eras, the ceiling is what the upstream of both eras reaches directly.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { Program, inPairs, startGateway } from '../launch.mjs';
import { SUITES, scoreClient, scoreServer } from './suite/official.mjs';
import { losses, shortfalls, sortByExpectation } from './suite/verdict.mjs';
import { report } from './suite/report.mjs';

const ROOT = import.meta.dirname;
const NODE = 'node_modules/.bin/node';
const EXPECTED_FAILURES = JSON.parse(readFileSync(resolve(ROOT, 'expected-failures.json'), 'utf8'));

/** Every scenario for clients that is not about authorization. */
const CLIENT_SCENARIOS = {
  '2025-11-25': [
    'initialize',
    'tools_call',
    'elicitation-sep1034-client-defaults',
    'sse-retry',
    'json-schema-2020-12-preservation',
  ],
  '2026-07-28': [
    'tools_call',
    'request-metadata',
    'sep-2322-client-request-state',
    'http-standard-headers',
    'http-custom-headers',
    'http-invalid-tool-headers',
    'json-schema-ref-no-deref',
    'json-schema-2020-12-preservation',
  ],
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { toolgate: { type: 'string' }, only: { type: 'string', default: '' }, scenario: { type: 'string' } },
});
const modes = { direct: runDirect, gateway: runGateway, client: runClient };
const mode = modes[positionals[0]];
if (!mode || (mode !== runDirect && !values.toolgate)) {
  console.error(
    'usage: run.mjs direct | gateway --toolgate BIN [--only REGEX] [--scenario NAME] | client --toolgate BIN',
  );
  process.exit(2);
}
const toolgate = values.toolgate && resolve(values.toolgate);
const selected = (cell) => new RegExp(values.only).test(cell);
process.exit(report(await mode()));

async function runDirect() {
  const cells = ['both-r1125', 'both-r0728', 'both-s16', 'both-a0618', 'legacy-r1125', 'modern-r0728'].filter(selected);
  return inPairs(
    cells.map((cell) => () => {
      const [era, suite] = cell.split('-');
      return row(`direct-${cell}`, async () => {
        const scores = await scoreDirect(era, suite);
        const required = [...scores.values()].filter((score) => score.required).length;
        if (required !== (SUITES[suite].required ?? 0)) throw new Error(`the suite requires ${required} scenarios`);
        return { total: required || scores.size, unexpected: shortfalls(scores), expected: [] };
      });
    }),
  );
}

async function runGateway() {
  const cells = ['http', 'stdio'].flatMap((transport) =>
    ['both', 'legacy', 'modern'].flatMap((era) => ['r1125', 'r0728'].map((suite) => ({ era, transport, suite }))),
  );
  cells.push({ era: 'both', transport: 'http', suite: 's16' }, { era: 'both', transport: 'http', suite: 'a0618' });
  const chosen = cells.filter(({ era, transport, suite }) => selected(`${era}-${transport}-${suite}`));

  const suites = [...new Set(chosen.map(({ suite }) => suite))];
  const ceilings = await inPairs(suites.map((suite) => async () => [suite, await scoreDirect('both', suite)]));
  const ceilingOf = new Map(ceilings);
  return inPairs(
    chosen.map(({ era, transport, suite }) => () => {
      const cell = `${era}-${transport}-${suite}`;
      return row(cell, async () => {
        const ceiling = ceilingOf.get(suite);
        const reached = await scoreThroughGateway(era, transport, suite);
        const lost = losses(ceiling, reached);
        return { total: ceiling.size, ...sortByExpectation(cell, ceiling, lost, EXPECTED_FAILURES) };
      });
    }),
  );
}

async function runClient() {
  const cells = Object.entries(CLIENT_SCENARIOS).flatMap(([revision, scenarios]) =>
    scenarios.map((scenario) => ({ revision, scenario })),
  );
  const command = `${NODE} client-under-test.mjs`;
  return inPairs(
    cells
      .filter(({ revision, scenario }) => selected(`${revision}:${scenario}`))
      .map(({ revision, scenario }) => () => {
        const cell = `client-${revision}:${scenario}`;
        return row(cell, async () => {
          const direct = await scoreClient(ROOT, revision, scenario, command, { TOOLGATE_BIN: '' });
          const reached = await scoreClient(ROOT, revision, scenario, command, { TOOLGATE_BIN: toolgate });
          if (!direct.strict) throw new Error(`the driver itself does not reach it\n${direct.log}`);
          const lost = losses(new Map([[scenario, direct]]), new Map([[scenario, reached]]));
          if (lost.length > 0) lost[0].complaints.unshift(reached.log);
          return { total: 1, ...sortByExpectation(cell, new Map([[scenario]]), lost, EXPECTED_FAILURES) };
        });
      }),
  );
}

async function scoreDirect(era, suite) {
  const { program, url } = await startUpstream(era);
  try {
    return await scoreServer(ROOT, suite, url, values.scenario);
  } finally {
    await program.stop();
  }
}

async function scoreThroughGateway(era, transport, suite) {
  const upstream = transport === 'http' ? await startUpstream(era) : undefined;
  let gateway;
  try {
    const target = upstream?.url ?? `${NODE} upstream.mjs stdio --era ${era}`;
    gateway = await startGateway(toolgate, { up: target }, { cwd: ROOT });
    return await scoreServer(ROOT, suite, gateway.url, values.scenario);
  } finally {
    await gateway?.program.stop();
    await upstream?.program.stop();
    // Whoever looks at a single scenario wants to know what the gateway had to say.
    if (values.scenario && gateway) console.log(`--- the gateway's last lines\n${gateway.program.tail}`);
  }
}

async function startUpstream(era) {
  const program = new Program(NODE, ['upstream.mjs', 'http', '--era', era], { cwd: ROOT });
  return { program, url: await program.address() };
}

/** Runs one cell; what goes wrong around the suite becomes the row's problem rather than the end of the run. */
async function row(cell, run) {
  const begin = performance.now();
  let outcome;
  try {
    outcome = await run();
  } catch (error) {
    outcome = { total: 0, unexpected: [], expected: [], problem: error.message };
  }
  return { cell, seconds: (performance.now() - begin) / 1000, ...outcome };
}
