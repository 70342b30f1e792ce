// The upstream over standard input and output. The first message decides the era of the whole connection.
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { Audience, makeServer } from './server.mjs';

export function listenStdio(era) {
  const audience = new Audience();
  const make = (instanceEra) => {
    const server = makeServer(instanceEra, audience);
    audience.add(server);
    return server;
  };
  // A legacy-only server is one that has never heard of the modern revision, so it is wired the old way.
  if (era === 'legacy') make('legacy').connect(new StdioServerTransport());
  else serveStdio((ctx) => make(ctx.era), { legacy: era === 'modern' ? 'reject' : 'serve' });
}
