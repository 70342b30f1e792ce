// The upstream over Streamable HTTP: sessions for the legacy era, one instance per request for the modern one.
import { createServer } from 'node:http';
import { createMcpHandler, isLegacyRequest } from '@modelcontextprotocol/server';
import {
  localhostHostValidation,
  localhostOriginValidation,
  toNodeHandler,
  toWebRequest,
} from '@modelcontextprotocol/node';
import { LegacySessions } from './sessions.mjs';
import { Audience, makeServer } from './server.mjs';

/** Listens on loopback and returns the address of the endpoint. */
export async function listenHttp(era, port) {
  const audience = new Audience();
  const changes = {
    toolsChanged: () => [audience, modern.notify].forEach((listeners) => listeners.toolsChanged()),
    promptsChanged: () => [audience, modern.notify].forEach((listeners) => listeners.promptsChanged()),
  };
  const modern = createMcpHandler(() => makeServer('modern', changes), { legacy: 'reject' });
  const serveModern = toNodeHandler(modern);
  const sessions = new LegacySessions(() => makeServer('legacy', changes), audience);

  const isForLegacy = async (req, body) => {
    if (era !== 'both') return era === 'legacy';
    return req.method !== 'POST' || isLegacyRequest(await toWebRequest(req, body), body);
  };
  const hostIsLocal = localhostHostValidation();
  const originIsLocal = localhostOriginValidation();
  const listener = createServer(async (req, res) => {
    if (!hostIsLocal(req, res) || !originIsLocal(req, res)) return;
    if (new URL(req.url, 'http://localhost').pathname !== '/mcp') return res.writeHead(404).end();
    try {
      const body = req.method === 'POST' ? await readJson(req) : undefined;
      if (await isForLegacy(req, body)) await sessions.serve(req, res, body);
      else await serveModern(req, res, body);
    } catch (error) {
      if (!res.headersSent) res.writeHead(400, { 'content-type': 'application/json' });
      res.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32700, message: String(error) } }));
    }
  });
  await new Promise((ready) => listener.listen(port, '127.0.0.1', ready));
  return `http://127.0.0.1:${listener.address().port}/mcp`;
}

async function readJson(req) {
  const chunks = [];
  for await (const chunk of req) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}
