// Tools that say something besides their result: progress, log messages, changed lists, and a stream that breaks off.
import { setTimeout as pause } from 'node:timers/promises';
import { fromJsonSchema } from '@modelcontextprotocol/server';
import { textResult } from './samples.mjs';

const NO_ARGUMENTS = fromJsonSchema({ type: 'object', properties: {} });
const STEP_MS = 50;

export function addNotificationTools(server, changes) {
  const add = (name, description, run) =>
    server.registerTool(name, { description, inputSchema: NO_ARGUMENTS }, (_args, ctx) => run(ctx));

  add('test_tool_with_logging', 'Logs three messages while it runs', async (ctx) => {
    await ctx.mcpReq.log('info', 'Tool execution started');
    await pause(STEP_MS);
    await ctx.mcpReq.log('info', 'Tool processing data');
    await pause(STEP_MS);
    await ctx.mcpReq.log('info', 'Tool execution completed');
    return textResult('Tool with logging executed successfully');
  });

  add('test_logging_tool', 'Logs one message, which only a client that asked for it may see', async (ctx) => {
    await ctx.mcpReq.log('info', 'test_logging_tool ran');
    return textResult('logged');
  });

  add('test_tool_with_progress', 'Reports progress in three steps', async (ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    // Without a token the client did not ask for progress, and none may be sent.
    if (progressToken === undefined) return textResult('no progress token');
    for (const progress of [0, 50, 100]) {
      await ctx.mcpReq.notify({
        method: 'notifications/progress',
        params: { progressToken, progress, total: 100, message: `Completed step ${progress} of 100` },
      });
      if (progress < 100) await pause(STEP_MS);
    }
    return textResult(String(progressToken));
  });

  add('test_reconnection', 'Breaks its own stream off and answers on the resumed one', async (ctx) => {
    ctx.http?.closeSSE?.();
    await pause(2 * STEP_MS);
    return textResult('the client came back for its answer');
  });

  add('test_trigger_tool_change', 'Announces that the tools changed', async () => {
    changes.toolsChanged();
    return textResult('announced');
  });
  add('test_trigger_prompt_change', 'Announces that the prompts changed', async () => {
    changes.promptsChanged();
    return textResult('announced');
  });
}
