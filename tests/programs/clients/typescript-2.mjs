// A client on the TypeScript SDK 2.x, in either era.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { plan, play, sdkClient } from './checks.mjs';

await play(async () => {
  const { url, command, args, env } = plan.target;
  const modern = plan.era === 'modern';
  const client = new Client(
    { name: 'typescript-2', version: '1.0.0' },
    modern ? { versionNegotiation: { mode: 'auto' } } : {},
  );
  await client.connect(
    url ? new StreamableHTTPClientTransport(new URL(url)) : new StdioClientTransport({ command, args, env }),
  );
  const spoken = client.getNegotiatedProtocolVersion();
  if (modern !== spoken >= '2026') throw new Error(`asked for the ${plan.era} era, but speaks ${spoken}`);
  return sdkClient(client);
});
