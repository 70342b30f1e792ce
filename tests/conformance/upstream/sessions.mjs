// Legacy sessions: one server and one transport for each, found again by the session id of a request.
import { randomUUID } from 'node:crypto';
import { isInitializeRequest } from '@modelcontextprotocol/server';
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';

/** How long a client waits before it resumes a broken stream. */
const RETRY_MS = 500;

export class LegacySessions {
  #transports = new Map();
  #makeServer;
  #audience;

  constructor(makeServer, audience) {
    this.#makeServer = makeServer;
    this.#audience = audience;
  }

  async serve(req, res, body) {
    const id = req.headers['mcp-session-id'];
    if (id !== undefined) {
      const transport = this.#transports.get(id);
      if (!transport) return refuse(res, 404, -32001, 'Session not found');
      return transport.handleRequest(req, res, body);
    }
    if (!isInitializeRequest(body)) return refuse(res, 400, -32000, 'Bad Request: a session id is required');
    const transport = await this.#open();
    await transport.handleRequest(req, res, body);
  }

  async #open() {
    const server = this.#makeServer();
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: new EventLog(),
      retryInterval: RETRY_MS,
      onsessioninitialized: (id) => {
        this.#transports.set(id, transport);
        this.#audience.add(server);
      },
    });
    transport.onclose = () => {
      this.#transports.delete(transport.sessionId);
      this.#audience.remove(server);
    };
    await server.connect(transport);
    return transport;
  }
}

/** Keeps what was sent on each stream of a session, so that a client can resume after a break. */
class EventLog {
  #events = [];

  async storeEvent(streamId, message) {
    const id = `${streamId}::${this.#events.length}`;
    this.#events.push({ id, streamId, message });
    return id;
  }

  async replayEventsAfter(lastEventId, { send }) {
    const [streamId, position] = lastEventId.split('::');
    for (const event of this.#events.slice(Number(position) + 1)) {
      // The event that opens a stream has an empty message and is not repeated.
      if (event.streamId === streamId && Object.keys(event.message).length > 0) await send(event.id, event.message);
    }
    return streamId;
  }
}

function refuse(res, status, code, message) {
  res.writeHead(status, { 'content-type': 'application/json' });
  res.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } }));
}
