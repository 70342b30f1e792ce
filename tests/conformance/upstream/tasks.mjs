// The tasks extension of 2026-07-28: a call that takes long is answered with a task, which the client polls, answers and
// cancels. The SDK leaves this extension to the server, so the states of a task are kept here.
import { randomUUID } from 'node:crypto';
import {
  CLIENT_CAPABILITIES_META_KEY,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  fromJsonSchema,
} from '@modelcontextprotocol/server';

export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

const TTL_MS = 60_000;
const POLL_INTERVAL_MS = 200;
const ANY_OBJECT = fromJsonSchema({ type: 'object' });

/** All tasks of the process; each request may be served by another instance. */
const tasks = new Map();

/** Whether the client of this request can handle a task. */
export function clientKnowsTasks(ctx) {
  return ctx.mcpReq.envelope?.[CLIENT_CAPABILITIES_META_KEY]?.extensions?.[TASKS_EXTENSION] !== undefined;
}

/**
 * Refuses calls of the named tools by a client that cannot handle a task.
 *
 * An error that a tool throws becomes a tool result, but this refusal is an error of the protocol. So it stands before
 * the SDK's own handler, which is set when the first tool is registered: call this before that.
 */
export function refuseWithoutTasks(server, toolNames) {
  const setRequestHandler = server.server.setRequestHandler.bind(server.server);
  server.server.setRequestHandler = (method, ...rest) => {
    if (method !== 'tools/call') return setRequestHandler(method, ...rest);
    const [callTool] = rest;
    setRequestHandler(method, (request, ctx) => {
      if (toolNames.includes(request.params.name)) requireTasks(ctx);
      return callTool(request, ctx);
    });
  };
}

function requireTasks(ctx) {
  if (clientKnowsTasks(ctx)) return;
  throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } });
}

/** Starts a task and returns the result that announces it. */
export function startTask(questions, work) {
  const task = new Task(questions);
  tasks.set(task.id, task);
  setTimeout(() => tasks.delete(task.id), TTL_MS).unref();
  task.run(work);
  return { resultType: 'task', ...task.summary() };
}

/** Adds the methods with which a client follows its tasks. */
export function addTaskMethods(server) {
  const add = (method, run) =>
    server.server.setRequestHandler(method, { params: ANY_OBJECT, result: ANY_OBJECT }, async (params, ctx) => {
      requireTasks(ctx);
      const task = tasks.get(params.taskId);
      if (!task) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown task ${params.taskId}`);
      return run(task, ctx.mcpReq.inputResponses) ?? {};
    });
  add('tasks/get', (task) => task.details());
  add('tasks/update', (task, answers) => task.answer(answers));
  add('tasks/cancel', (task) => task.cancel());
}

class Task {
  id = randomUUID();
  #status = 'working';
  #createdAt = new Date().toISOString();
  #lastUpdatedAt = this.#createdAt;
  #outcome = {};
  #openQuestions;
  #answers = {};
  #noQuestionOpen = Promise.withResolvers();
  #cancelling = new AbortController();

  constructor(questions) {
    this.#openQuestions = questions;
  }

  async run(work) {
    try {
      if (Object.keys(this.#openQuestions).length > 0) {
        this.#become('input_required');
        await this.#noQuestionOpen.promise;
        this.#cancelling.signal.throwIfAborted();
        this.#become('working');
      }
      const result = await work(this.#answers, this.#cancelling.signal);
      this.#become('completed', { result });
    } catch (error) {
      if (this.#cancelling.signal.aborted) this.#become('cancelled');
      else
        this.#become('failed', {
          error: { code: error.code ?? ProtocolErrorCode.InternalError, message: error.message },
        });
    }
  }

  summary() {
    return {
      taskId: this.id,
      status: this.#status,
      createdAt: this.#createdAt,
      lastUpdatedAt: this.#lastUpdatedAt,
      ttlMs: TTL_MS,
      pollIntervalMs: POLL_INTERVAL_MS,
    };
  }

  details() {
    const questions = this.#status === 'input_required' ? { inputRequests: this.#openQuestions } : {};
    return { ...this.summary(), ...questions, ...this.#outcome };
  }

  /** Takes the answers to open questions, of which some may come later. */
  answer(answers = {}) {
    for (const [key, answer] of Object.entries(answers)) {
      if (!(key in this.#openQuestions)) continue;
      this.#answers[key] = answer;
      delete this.#openQuestions[key];
    }
    if (Object.keys(this.#openQuestions).length === 0) this.#noQuestionOpen.resolve();
  }

  cancel() {
    this.#cancelling.abort();
    this.#noQuestionOpen.resolve();
  }

  #become(status, outcome = {}) {
    this.#status = status;
    this.#outcome = outcome;
    this.#lastUpdatedAt = new Date().toISOString();
  }
}
