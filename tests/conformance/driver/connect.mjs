// A connected client of the official SDK.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const CLIENT = { name: 'toolgate-conformance-driver', version: '1.0.0' };

/** Connects in the given era; `answers` maps the server's questions to the functions that answer them. */
export async function connect(url, { modern, capabilities = {}, answers = {} }) {
  const client = new Client(CLIENT, { capabilities, ...(modern && { versionNegotiation: { mode: 'auto' } }) });
  for (const [method, answer] of Object.entries(answers)) client.setRequestHandler(method, answer);
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return client;
}
