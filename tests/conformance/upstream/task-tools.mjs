// Tools that take long. A client that knows tasks gets a task; any other waits for the result, and is asked on the way
// in its own era's manner.
import { setTimeout as pause } from 'node:timers/promises';
import {
  ProtocolError,
  ProtocolErrorCode,
  acceptedContent,
  fromJsonSchema,
  inputRequired,
} from '@modelcontextprotocol/server';
import { formWith, textResult } from './samples.mjs';
import { clientKnowsTasks, startTask } from './tasks.mjs';

const ask = (message, field, type) => inputRequired.elicit({ message, requestedSchema: formWith(field, type) });
const withProperties = (properties) => fromJsonSchema({ type: 'object', properties });

/** Each job: its arguments, what it asks first, and its work. */
const JOBS = {
  slow_compute: {
    properties: { seconds: { type: 'number' } },
    work: async ({ seconds = 1 }, _answers, signal) => {
      await pause(seconds * 1000, undefined, { signal });
      return textResult(`computed for ${seconds} s`);
    },
  },
  failing_job: {
    work: async (_args, _answers, signal) => {
      await pause(1000, undefined, { signal });
      return { ...textResult('the job failed'), isError: true };
    },
  },
  protocol_error_job: {
    work: async () => {
      throw new ProtocolError(ProtocolErrorCode.InternalError, 'the job broke down');
    },
  },
  confirm_delete: {
    properties: { filename: { type: 'string' } },
    questions: ({ filename }) => ({ confirm: ask(`Delete ${filename}?`, 'confirm', 'boolean') }),
    work: async ({ filename }, answers) => {
      const confirmed = acceptedContent(answers, 'confirm')?.confirm === true;
      return textResult(confirmed ? `deleted ${filename}` : `kept ${filename}`);
    },
  },
  multi_input: {
    questions: () => ({
      name: ask('What is your name?', 'name', 'string'),
      age: ask('How old are you?', 'age', 'number'),
    }),
    work: async (_args, answers) =>
      textResult(`${acceptedContent(answers, 'name')?.name} is ${acceptedContent(answers, 'age')?.age}`),
  },
};

/** Tools that a modern client can have as a task only. */
export const TASK_ONLY_TOOLS = ['failing_job', 'test_tool_with_task'];

export function addTaskTools(server) {
  const greet = { description: 'Greets at once', inputSchema: withProperties({ name: { type: 'string' } }) };
  server.registerTool('greet', greet, async ({ name }) => textResult(`Hello, ${name}!`));

  for (const [name, { properties = {}, questions = () => ({}), work }] of Object.entries(JOBS)) {
    const config = { description: 'Takes long', inputSchema: withProperties(properties) };
    server.registerTool(name, config, async (args, ctx) => {
      if (clientKnowsTasks(ctx)) return startTask(questions(args), (answers, signal) => work(args, answers, signal));
      const open = questions(args);
      const answers = ctx.mcpReq.inputResponses;
      if (!answers && Object.keys(open).length > 0) return inputRequired({ inputRequests: open });
      return work(args, answers, ctx.mcpReq.signal);
    });
  }

  // Asks before it becomes a task, so that a task and a question before it can be seen together.
  const config = { description: 'Asks, then takes long', inputSchema: withProperties({}) };
  server.registerTool('test_tool_with_task', config, async (_args, ctx) => {
    const name = acceptedContent(ctx.mcpReq.inputResponses, 'user_name')?.name;
    if (typeof name !== 'string') {
      return inputRequired({ inputRequests: { user_name: ask('What is your name?', 'name', 'string') } });
    }
    const work = async () => textResult(`Hello, ${name}!`);
    return clientKnowsTasks(ctx) ? startTask({}, work) : work();
  });
}
