// Tools that ask the client one thing and report its answer: the fixtures of the legacy revisions.
import { fromJsonSchema, inputRequired, inputResponse } from '@modelcontextprotocol/server';
import { textResult } from './samples.mjs';

const NO_ARGUMENTS = { type: 'object', properties: {} };

const DEFAULTS_FORM = {
  type: 'object',
  properties: {
    name: { type: 'string', description: 'User name', default: 'John Doe' },
    age: { type: 'integer', description: 'User age', default: 30 },
    score: { type: 'number', description: 'User score', default: 95.5 },
    status: {
      type: 'string',
      description: 'User status',
      enum: ['active', 'inactive', 'pending'],
      default: 'active',
    },
    verified: { type: 'boolean', description: 'Verification status', default: true },
  },
  required: [],
};

const titled = (...titles) => titles.map((title, index) => ({ const: `value${index + 1}`, title }));
const OPTIONS = ['option1', 'option2', 'option3'];
const ENUMS_FORM = {
  type: 'object',
  properties: {
    untitledSingle: { type: 'string', description: 'Select one option', enum: OPTIONS },
    titledSingle: {
      type: 'string',
      description: 'Select one option with titles',
      oneOf: titled('First Option', 'Second Option', 'Third Option'),
    },
    legacyEnum: {
      type: 'string',
      description: 'Select one option (legacy)',
      enum: ['opt1', 'opt2', 'opt3'],
      enumNames: ['Option One', 'Option Two', 'Option Three'],
    },
    untitledMulti: {
      type: 'array',
      description: 'Select multiple options',
      minItems: 1,
      maxItems: 3,
      items: { type: 'string', enum: OPTIONS },
    },
    titledMulti: {
      type: 'array',
      description: 'Select multiple options with titles',
      minItems: 1,
      maxItems: 3,
      items: { anyOf: titled('First Choice', 'Second Choice', 'Third Choice') },
    },
  },
  required: [],
};

const stringArgument = (name, description) => ({
  type: 'object',
  properties: { [name]: { type: 'string', description } },
  required: [name],
});

export function addQuestionTools(server) {
  addSampling(server, 'test_sampling', stringArgument('prompt', 'The prompt to send to the model'), 100);
  addSampling(server, 'test_missing_capability', NO_ARGUMENTS, 16);

  addForm(
    server,
    'test_elicitation',
    stringArgument('message', 'The message to show'),
    'User response',
    ({ message }) => ({
      message,
      requestedSchema: {
        type: 'object',
        properties: { response: { type: 'string', description: "User's response" } },
        required: ['response'],
      },
    }),
  );
  addForm(server, 'test_elicitation_sep1034_defaults', NO_ARGUMENTS, 'Elicitation completed', () => ({
    message: 'Please review and update the form fields with defaults',
    requestedSchema: DEFAULTS_FORM,
  }));
  addForm(server, 'test_elicitation_sep1330_enums', NO_ARGUMENTS, 'Elicitation completed', () => ({
    message: 'Please select options from the enum fields',
    requestedSchema: ENUMS_FORM,
  }));
}

function addSampling(server, name, schema, maxTokens) {
  const config = { description: 'Asks the model of the client', inputSchema: fromJsonSchema(schema) };
  server.registerTool(name, config, async ({ prompt = 'Reply with the single word: pong' }, ctx) => {
    const answer = inputResponse(ctx.mcpReq.inputResponses, 'completion');
    if (answer.kind === 'sampling') return textResult(`LLM response: ${answer.result.content.text}`);
    const question = { messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens };
    return inputRequired({ inputRequests: { completion: inputRequired.createMessage(question) } });
  });
}

function addForm(server, name, schema, reportAs, form) {
  const config = { description: 'Asks the user of the client', inputSchema: fromJsonSchema(schema) };
  server.registerTool(name, config, async (args, ctx) => {
    const answer = inputResponse(ctx.mcpReq.inputResponses, 'form');
    if (answer.kind === 'elicit') {
      return textResult(`${reportAs}: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`);
    }
    return inputRequired({ inputRequests: { form: inputRequired.elicit(form(args)) } });
  });
}
