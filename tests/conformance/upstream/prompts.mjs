// Prompts, one for each kind of content, and one that asks the user before it answers.
import { acceptedContent, fromJsonSchema, inputRequired } from '@modelcontextprotocol/server';
import { PNG, formWith, userMessage } from './samples.mjs';

const text = (text) => ({ type: 'text', text });
const stringArguments = (descriptions) =>
  fromJsonSchema({
    type: 'object',
    properties: Object.fromEntries(
      Object.entries(descriptions).map(([name, description]) => [name, { type: 'string', description }]),
    ),
    required: Object.keys(descriptions),
  });

export function addPrompts(server) {
  server.registerPrompt('test_simple_prompt', { description: 'A prompt without arguments' }, async () => ({
    messages: [userMessage(text('This is a simple prompt for testing.'))],
  }));

  server.registerPrompt(
    'test_prompt_with_arguments',
    {
      description: 'A prompt with two arguments',
      argsSchema: stringArguments({ arg1: 'First test argument', arg2: 'Second test argument' }),
    },
    async ({ arg1, arg2 }) => ({
      messages: [userMessage(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))],
    }),
  );

  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    {
      description: 'A prompt that carries a resource',
      argsSchema: stringArguments({ resourceUri: 'URI of the resource to embed' }),
    },
    async ({ resourceUri }) => ({
      messages: [
        userMessage({
          type: 'resource',
          resource: { uri: resourceUri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' },
        }),
        userMessage(text('Please process the embedded resource above.')),
      ],
    }),
  );

  server.registerPrompt('test_prompt_with_image', { description: 'A prompt that carries an image' }, async () => ({
    messages: [
      userMessage({ type: 'image', data: PNG, mimeType: 'image/png' }),
      userMessage(text('Please analyze the image above.')),
    ],
  }));

  server.registerPrompt(
    'test_input_required_result_prompt',
    { description: 'A prompt that asks the user first' },
    async (ctx) => {
      const context = acceptedContent(ctx.mcpReq.inputResponses, 'user_context')?.context;
      if (typeof context === 'string')
        return { messages: [userMessage(text(`Use the following context: ${context}`))] };
      const question = {
        message: 'What context should the prompt use?',
        requestedSchema: formWith('context', 'string'),
      };
      return inputRequired({ inputRequests: { user_context: inputRequired.elicit(question) } });
    },
  );
}
