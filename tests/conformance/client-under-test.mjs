// The client that the suite's scenarios test: Toolgate, driven by a client on the official SDK.
//
// The suite starts a server for the scenario and this program with its address. It starts the gateway before that
// server and plays the scenario's client against the gateway. With an empty TOOLGATE_BIN it talks to the server itself,
// which shows what the driver reaches without a gateway.
import { startGateway } from '../launch.mjs';
import { playScenario } from './driver/scenarios.mjs';

const serverUrl = process.argv[2];
const { TOOLGATE_BIN, MCP_CONFORMANCE_SCENARIO, MCP_CONFORMANCE_PROTOCOL_VERSION, MCP_CONFORMANCE_CONTEXT } =
  process.env;
const scenario = {
  name: MCP_CONFORMANCE_SCENARIO,
  revision: MCP_CONFORMANCE_PROTOCOL_VERSION,
  context: JSON.parse(MCP_CONFORMANCE_CONTEXT ?? '{}'),
};

// The suite ends an overdue client with its shell only, so this program also keeps an eye on the time itself.
setTimeout(() => process.exit(1), 55_000).unref();

let gateway;
try {
  gateway = TOOLGATE_BIN ? await startGateway(TOOLGATE_BIN, { up: serverUrl }) : undefined;
  await playScenario(scenario, gateway?.url ?? serverUrl);
} catch (error) {
  console.error(error);
  if (gateway) console.error(`--- the gateway's last lines\n${gateway.program.tail}`);
  process.exitCode = 1;
} finally {
  await gateway?.program.stop();
}
process.exit();
