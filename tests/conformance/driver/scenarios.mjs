// How a client behaves in each of the suite's client scenarios.
import { connect } from './connect.mjs';

/** Plays the scenario against the server or gateway at `url`. */
export async function playScenario(scenario, url) {
  const play = SCENARIOS[scenario.name];
  if (!play) throw new Error(`no driver for scenario ${scenario.name}`);
  const open = (options = {}) => connect(url, { modern: scenario.revision >= '2026', ...options });
  await play(open, scenario.context);
}

const SCENARIOS = {
  initialize: listTools,
  'json-schema-ref-no-deref': listTools,
  'sse-retry': callOne('test_reconnection', {}),
  tools_call: callOne('add_numbers', { a: 5, b: 3 }),

  // Connecting is the scenario: each request carries its metadata, and a refused version is replaced by a supported one.
  'request-metadata': async (open) => {
    const capabilities = { roots: { listChanged: true }, sampling: {}, elicitation: {} };
    const client = await open({ capabilities, answers: { 'elicitation/create': acceptEmpty } });
    await client.listTools().catch(() => {});
    await client.close();
  },

  // The user accepts the form as it stands; the defaults must be filled in on the way.
  'elicitation-sep1034-client-defaults': async (open) => {
    const capabilities = { elicitation: { form: { applyDefaults: true } } };
    const client = await open({ capabilities, answers: { 'elicitation/create': acceptEmpty } });
    await callTool(client, 'test_client_elicitation_defaults', {});
    await client.close();
  },

  'sep-2322-client-request-state': async (open) => {
    const accept = async () => ({ action: 'accept', content: { confirmed: true } });
    const client = await open({ capabilities: { elicitation: {} }, answers: { 'elicitation/create': accept } });
    for (const name of ['echo_state', 'no_state', 'unrelated', 'no_result_type']) {
      await client.callTool({ name: `test_mrtr_${name}`, arguments: {} }).catch((error) => console.error(name, error));
    }
    await client.close();
  },

  'http-standard-headers': async (open) => {
    const client = await open();
    const [tool] = (await client.listTools()).tools;
    await client.callTool({ name: tool.name, arguments: {} });
    const [resource] = (await client.listResources()).resources;
    await client.readResource({ uri: resource.uri });
    const [prompt] = (await client.listPrompts()).prompts;
    await client.getPrompt({ name: prompt.name, arguments: {} });
    await client.close();
  },

  'http-custom-headers': async (open, context) => {
    const client = await open();
    await client.listTools();
    for (const call of context.toolCalls) await client.callTool({ name: call.name, arguments: call.arguments });
    await client.close();
  },

  // Every listed tool is called, so a tool with an invalid header annotation must not be listed.
  'http-invalid-tool-headers': async (open) => {
    const client = await open();
    const { tools } = await client.listTools();
    for (const { name } of tools) {
      await client.callTool({ name, arguments: { region: 'us-west1' } }).catch((error) => console.error(name, error));
    }
    await client.close();
  },

  // The schema goes back as it arrived, so that the suite can see what was lost on the way.
  'json-schema-2020-12-preservation': async (open) => {
    const client = await open();
    const { tools } = await client.listTools();
    const { inputSchema } = tools.find(({ name }) => name === 'json_schema_2020_12_tool');
    await client.callTool({ name: 'json_schema_echo', arguments: { schema: inputSchema } });
    await client.close();
  },
};

async function listTools(open) {
  const client = await open();
  await client.listTools();
  await client.close();
}

function callOne(name, args) {
  return async (open) => {
    const client = await open();
    await callTool(client, name, args);
    await client.close();
  };
}

async function callTool(client, name, args) {
  const { tools } = await client.listTools();
  if (!tools.some((tool) => tool.name === name)) throw new Error(`tool ${name} is not listed`);
  return client.callTool({ name, arguments: args });
}

async function acceptEmpty() {
  return { action: 'accept', content: {} };
}
