// The reference upstream: an MCP server on the official TypeScript SDK with every fixture the conformance suite calls.
//
//   node upstream.mjs http  --era both|legacy|modern [--port 0]   prints {"listening": URL} when ready
//   node upstream.mjs stdio --era both|legacy|modern              ends when its standard input ends
//
// Both eras come from one set of handlers. A handler that needs an answer from the client returns `inputRequired(…)`;
// the SDK sends that as it is to a modern client and turns it into server requests for a legacy one. So every fixture
// of either era exists in every variant, written on the wire in the variant's own era.
import { parseArgs } from 'node:util';
import { listenHttp } from './upstream/http.mjs';
import { listenStdio } from './upstream/stdio.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { era: { type: 'string', default: 'both' }, port: { type: 'string', default: '0' } },
});
const [transport] = positionals;
if (!['both', 'legacy', 'modern'].includes(values.era) || !['http', 'stdio'].includes(transport)) {
  console.error('usage: upstream.mjs http|stdio --era both|legacy|modern [--port PORT]');
  process.exit(2);
}

if (transport === 'stdio') {
  listenStdio(values.era);
} else {
  const url = await listenHttp(values.era, Number(values.port));
  console.log(JSON.stringify({ listening: url }));
}
