// Tools that need several answers, several rounds or a sealed state: the `input_required` fixtures of 2026-07-28.
import { randomUUID } from 'node:crypto';
import {
  CLIENT_CAPABILITIES_META_KEY,
  acceptedContent,
  fromJsonSchema,
  inputRequired,
  inputResponse,
} from '@modelcontextprotocol/server';
import { formWith, textResult } from './samples.mjs';

const NO_ARGUMENTS = fromJsonSchema({ type: 'object', properties: {} });

const askForm = (message, field, type = 'string') =>
  inputRequired.elicit({ message, requestedSchema: formWith(field, type) });
const askModel = (text, maxTokens) =>
  inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text } }], maxTokens });

export function addMultiRoundTools(server, era, requestState) {
  const add = (suffix, description, run) =>
    server.registerTool(
      `test_input_required_result_${suffix}`,
      { description, inputSchema: NO_ARGUMENTS },
      async (_args, ctx) => run(ctx.mcpReq.inputResponses, ctx),
    );
  const seal = (state) => requestState.mint({ ...state, nonce: randomUUID() });

  add('elicitation', 'Asks for a name', (answers) => {
    const name = acceptedContent(answers, 'user_name')?.name;
    if (typeof name === 'string') return textResult(`Hello, ${name}!`);
    return inputRequired({ inputRequests: { user_name: askForm('What is your name?', 'name') } });
  });

  add('sampling', 'Asks the model a question', (answers) => {
    const answer = inputResponse(answers, 'capital_question');
    if (answer.kind === 'sampling') return textResult(`Sampling response: ${answer.result.content.text}`);
    return inputRequired({ inputRequests: { capital_question: askModel('What is the capital of France?', 100) } });
  });

  add('list_roots', 'Asks for the roots', (answers) => {
    const answer = inputResponse(answers, 'client_roots');
    if (answer.kind === 'roots') return textResult(`Roots: ${answer.roots.map((root) => root.uri).join(', ')}`);
    return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
  });

  add('request_state', 'Asks for a confirmation and seals its state', async (answers, ctx) => {
    if (acceptedContent(answers, 'confirm') && ctx.mcpReq.requestState()) return textResult('state-ok');
    return inputRequired({
      inputRequests: { confirm: askForm('Please confirm', 'ok', 'boolean') },
      requestState: await seal({}),
    });
  });

  // The SDK verifies a state before the handler runs, so a forged one never arrives here.
  add('tampered_state', 'Refuses a state that it did not seal', async (answers, ctx) => {
    if (acceptedContent(answers, 'confirm') && ctx.mcpReq.requestState()) return textResult('integrity-ok');
    return inputRequired({
      inputRequests: { confirm: askForm('Please confirm', 'ok', 'boolean') },
      requestState: await seal({}),
    });
  });

  add('multiple_inputs', 'Asks three things at once', async (answers) => {
    const name = acceptedContent(answers, 'user_name')?.name;
    const greeting = inputResponse(answers, 'greeting');
    const roots = inputResponse(answers, 'client_roots');
    if (typeof name === 'string' && greeting.kind === 'sampling' && roots.kind === 'roots') {
      return textResult(`${greeting.result.content.text} ${name}, ${roots.roots.length} root(s) visible`);
    }
    return inputRequired({
      inputRequests: {
        user_name: askForm('What is your name?', 'name'),
        greeting: askModel('Generate a greeting', 50),
        client_roots: inputRequired.listRoots(),
      },
      requestState: await seal({}),
    });
  });

  add('multi_round', 'Asks twice, one question after the other', async (answers, ctx) => {
    const state = ctx.mcpReq.requestState() ?? { round: 0 };
    if (state.round === 0) {
      return inputRequired({
        inputRequests: { step1: askForm('Step 1: What is your name?', 'name') },
        requestState: await seal({ round: 1 }),
      });
    }
    if (state.round === 1) {
      const name = acceptedContent(answers, 'step1')?.name ?? 'unknown';
      return inputRequired({
        inputRequests: { step2: askForm('Step 2: What is your favorite color?', 'color') },
        requestState: await seal({ round: 2, name }),
      });
    }
    return textResult(`${state.name} likes ${acceptedContent(answers, 'step2')?.color ?? 'unknown'}`);
  });

  const asksByCapability = {
    elicitation: () => askForm('What is your name?', 'name'),
    sampling: () => askModel('Generate a short greeting', 50),
    roots: () => inputRequired.listRoots(),
  };
  add('capabilities', 'Asks only what the client declared that it can answer', async (answers, ctx) => {
    if (answers !== undefined) return textResult('the client answered');
    const declared =
      era === 'legacy' ? server.server.getClientCapabilities() : ctx.mcpReq.envelope?.[CLIENT_CAPABILITIES_META_KEY];
    const askable = Object.entries(asksByCapability).filter(([name]) => declared?.[name]);
    const inputRequests = Object.fromEntries(askable.map(([name, ask]) => [name, ask()]));
    if (era === 'legacy') return askOneByOne(ctx, inputRequests);
    return askable.length > 0 ? inputRequired({ inputRequests }) : textResult('the client can answer nothing');
  });
}

/**
 * Sends each question as a request of its own and goes on without those that the client refuses. A legacy client
 * declares what it can answer once for its whole session, so a server must be ready for a refusal of a single question.
 */
async function askOneByOne(ctx, questions) {
  const answers = await Promise.allSettled(Object.values(questions).map((question) => ctx.mcpReq.send(question)));
  const answered = answers.filter((answer) => answer.status === 'fulfilled').length;
  return textResult(`the client answered ${answered} of ${answers.length} questions`);
}
