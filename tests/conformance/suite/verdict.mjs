// Compares what the gateway reached with what the upstream reaches without it.

/** The scenarios in which the gateway loses something, each with what was lost. */
export function losses(direct, through) {
  const lost = [];
  for (const [scenario, ceiling] of direct) {
    const reached = through.get(scenario);
    if (!reached) {
      lost.push({ scenario, detail: 'not run', complaints: [] });
    } else if (
      (ceiling.strict && !reached.strict) ||
      reached.passed < ceiling.passed ||
      reached.failed > ceiling.failed ||
      reached.warned > ceiling.warned
    ) {
      const detail = ['passed', 'failed', 'warned']
        .map((kind) => `${kind} ${ceiling[kind]}→${reached[kind]}`)
        .join(' ');
      lost.push({ scenario, detail, complaints: reached.complaints });
    }
  }
  return lost;
}

/** The required scenarios that the upstream itself does not reach; without a required set, those that fail. */
export function shortfalls(scores) {
  const judged = [...scores].some(([, score]) => score.required)
    ? [...scores].filter(([, score]) => score.required && !score.strict)
    : [...scores].filter(([, score]) => score.failed > 0);
  return judged.map(([scenario, { passed, failed, warned, complaints }]) => ({
    scenario,
    detail: `passed ${passed} failed ${failed} warned ${warned}`,
    complaints,
  }));
}

/**
 * Splits losses into unexpected and expected ones. An expectation names cells (as a regular expression) and a scenario,
 * and gives the reason; one that no longer comes true is itself a loss, so that the list can only shrink.
 */
export function sortByExpectation(cell, scenarios, lost, expectations) {
  const here = expectations.filter(
    (entry) => new RegExp(`^(?:${entry.cells})$`).test(cell) && scenarios.has(entry.scenario),
  );
  const isExpected = ({ scenario }) => here.some((entry) => entry.scenario === scenario);
  const stale = here
    .filter((entry) => !lost.some(({ scenario }) => scenario === entry.scenario))
    .map(({ scenario }) => ({ scenario, detail: 'passes, so remove it from expected-failures.json', complaints: [] }));
  return { unexpected: [...lost.filter((loss) => !isExpected(loss)), ...stale], expected: lost.filter(isExpected) };
}
