// A client on the TypeScript SDK 1.x, which knows the legacy era only, over all three of its transports.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { plan, play, sdkClient } from './checks.mjs';

await play(async () => {
  const { url, sse, command, args, env } = plan.target;
  const client = new Client({ name: 'typescript-1', version: '1.0.0' });
  if (sse) await client.connect(new SSEClientTransport(new URL(sse)));
  else if (url) await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  else await client.connect(new StdioClientTransport({ command, args, env }));
  return sdkClient(client);
});
