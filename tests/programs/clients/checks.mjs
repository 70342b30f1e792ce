// What every client does with the gateway, whichever SDK it is made of, and how it reports.

/** The plan this client was started with. */
export const plan = JSON.parse(process.argv[2]);

/** Connects with `connect`, plays the plan, prints one line of JSON for each check, and ends the process. */
export async function play(connect) {
  let client;
  await check('connect', async () => {
    client = await connect();
  });
  if (client) {
    if (plan.tools.length > 0)
      await check('list tools', async () => expectNames(await client.tools(), plan.tools, 'name'));
    for (const { name, arguments: args, expect } of plan.tools) {
      await check(`call ${name}`, async () => expectText(await client.call(name, args), expect));
    }
    if (client.isSdk) await playBusiness(client, plan.business);
    if (plan.resources.length > 0) {
      await check('list resources', async () => expectNames(await client.resources(), plan.resources, 'uri'));
    }
    for (const { uri, expect } of plan.resources) {
      await check(`read ${uri}`, async () => expectText(await client.read(uri), expect));
    }
    if (plan.prompts.length > 0) {
      await check('list prompts', async () => expectNames(await client.prompts(), plan.prompts, 'name'));
    }
    for (const { name, arguments: args, expect } of plan.prompts) {
      await check(`get ${name}`, async () => expectText(await client.prompt(name, args), expect));
    }
    await check('close', () => client.close());
  }
  process.exit();
}

async function playBusiness(client, { tools, refused, described, resources }) {
  for (const { name, arguments: args, expect } of tools) {
    await check(`call ${name}`, async () => expectText(await client.call(name, args), expect));
  }
  for (const { name, arguments: args, expect } of refused) {
    await check(`refused ${name}`, async () => expectFailure(await client.call(name, args), expect));
  }
  for (const { name, expect } of described) {
    await check(`described ${name}`, async () => {
      const tool = (await client.tools()).find((tool) => tool.name === name);
      if (!tool?.description?.includes(expect)) throw new Error(`expected ${expect} in ${tool?.description}`);
    });
  }
  for (const { uri, expect } of resources) {
    await check(`read ${uri}`, async () => expectText(await client.read(uri), expect));
  }
}

/** The methods above for a client of either TypeScript SDK, whose surfaces agree as far as the plan goes. */
export function sdkClient(client) {
  return {
    isSdk: true,
    tools: async () => (await client.listTools()).tools,
    call: (name, args) => client.callTool({ name, arguments: args }),
    resources: async () => (await client.listResources()).resources,
    read: (uri) => client.readResource({ uri }),
    prompts: async () => (await client.listPrompts()).prompts,
    prompt: (name, args) => client.getPrompt({ name, arguments: args }),
    close: () => client.close(),
  };
}

async function check(name, run) {
  try {
    await run();
    console.log(JSON.stringify({ name, ok: true }));
  } catch (error) {
    console.log(JSON.stringify({ name, ok: false, detail: error.message }));
  }
}

function expectNames(listed, wanted, key) {
  const names = new Set(listed.map((entry) => entry[key]));
  const missing = wanted.map((entry) => entry[key]).filter((name) => !names.has(name));
  if (missing.length > 0) throw new Error(`not listed: ${missing.join(', ')}; listed: ${[...names].join(', ')}`);
}

function expectText(result, expected) {
  const text = JSON.stringify(result);
  if (result.isError || !text.includes(expected)) throw new Error(`expected ${expected} in ${text.slice(0, 500)}`);
}

function expectFailure(result, expected) {
  const text = JSON.stringify(result);
  if (!result.isError || !text.includes(expected)) throw new Error(`expected a failure with ${expected}: ${text}`);
}
