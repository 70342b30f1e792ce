// One MCP server instance with all fixtures. The SDK wants a fresh instance for each session or modern request, so
// what must outlive an instance (the key of the request state, the set of live sessions) is kept by this module.
import { randomBytes } from 'node:crypto';
import { McpServer, createRequestStateCodec } from '@modelcontextprotocol/server';
import { addContentTools } from './content-tools.mjs';
import { addNotificationTools } from './notification-tools.mjs';
import { addQuestionTools } from './question-tools.mjs';
import { addMultiRoundTools } from './multi-round-tools.mjs';
import { addSchemaTools } from './schema-tools.mjs';
import { TASK_ONLY_TOOLS, addTaskTools } from './task-tools.mjs';
import { TASKS_EXTENSION, addTaskMethods, refuseWithoutTasks } from './tasks.mjs';
import { addResources } from './resources.mjs';
import { addPrompts } from './prompts.mjs';

const requestState = createRequestStateCodec({ key: randomBytes(32) });

/**
 * Makes a server instance.
 *
 * @param era     'legacy' or 'modern': the era this instance will speak.
 * @param changes announces a change of the tool or prompt list to everyone who is connected.
 */
export function makeServer(era, changes) {
  const server = new McpServer(
    { name: 'toolgate-reference-upstream', version: '1.0.0' },
    {
      capabilities: {
        resources: { subscribe: true, listChanged: true },
        prompts: { listChanged: true },
        logging: {},
        completions: {},
        ...(era === 'modern' && { extensions: { [TASKS_EXTENSION]: {} } }),
      },
      requestState: { verify: requestState.verify },
    },
  );
  // The `tools` capability is declared with the first tool, so that this can still stand before the calls.
  if (era === 'modern') {
    refuseWithoutTasks(server, TASK_ONLY_TOOLS);
    addTaskMethods(server);
  }
  addContentTools(server);
  addSchemaTools(server);
  addNotificationTools(server, changes);
  addQuestionTools(server);
  addMultiRoundTools(server, era, requestState);
  addTaskTools(server);
  addResources(server);
  addPrompts(server);
  server.server.setRequestHandler('completion/complete', async () => ({
    completion: { values: ['alpha', 'beta'], total: 2, hasMore: false },
  }));
  return server;
}

/** Live instances that hold a connection open, so that a change can be announced to all of them. */
export class Audience {
  #servers = new Set();

  add(server) {
    this.#servers.add(server);
  }

  remove(server) {
    this.#servers.delete(server);
  }

  toolsChanged() {
    for (const server of this.#servers) server.sendToolListChanged();
  }

  promptsChanged() {
    for (const server of this.#servers) server.sendPromptListChanged();
  }
}
